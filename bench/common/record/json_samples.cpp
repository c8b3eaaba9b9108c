#include <algorithm>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record_json.hpp"

namespace linkgain::json {
namespace {

/// A member of every sample as one column.
template <typename Member>
Out column(const std::vector<Sample>& samples, Member member) {
  Out values = Out::array();
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return values;
}

/// A value of every sample's rank as one column for each rank; null where the rank has none.
template <typename Value>
Out columns_by_rank(const std::vector<Sample>& samples, std::size_t ranks, Value value) {
  Out columns = Out::array();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Out values = Out::array();
    for (const Sample& sample : samples) values.push_back(value(sample, rank));
    columns.push_back(std::move(values));
  }
  return columns;
}

template <typename Member>
Out health_columns(const std::vector<Sample>& samples, std::size_t ranks, Member member) {
  return columns_by_rank(samples, ranks, [member](const Sample& sample, std::size_t rank) {
    return rank < sample.health.size() ? nullable(sample.health[rank].*member) : Out(nullptr);
  });
}

Out losses(const std::vector<Sample>& samples) {
  Out values = Out::array();
  for (const Sample& sample : samples) values.push_back(nullable(sample.loss));
  return values;
}

/// A column that records without trainings, and older ones, lack.
void read_losses(const In& json, std::vector<Sample>& samples) {
  const In* const column = member_of(json, "loss");
  if (column == nullptr) return;
  if (column->size() != samples.size()) {
    throw UsageError("samples: column 'loss' has another length");
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(*column)[i].is_null()) samples[i].loss = (*column)[i].get<double>();
  }
}

template <typename T>
void read_column(const In& json, const char* key, std::vector<Sample>& samples, T Sample::*member) {
  const In& column = json.at(key);
  if (column.size() != samples.size()) {
    throw UsageError(std::string("samples: column '") + key + "' has another length");
  }
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].*member = column[i].get<T>();
}

/// Every rank's column must have a value, or null, for each sample.
void require_columns(const In& json, const char* key, std::size_t rows) {
  for (const In& column : json.at(key)) {
    if (column.size() == rows) continue;
    throw UsageError(std::string("samples: a column of '") + key + "' has another length");
  }
}

template <typename T>
std::optional<T> cell(const In& columns, std::size_t rank, std::size_t row) {
  if (rank >= columns.size() || columns[rank][row].is_null()) return std::nullopt;
  return columns[rank][row].get<T>();
}

}  // namespace

Out write_samples(const std::vector<Sample>& samples) {
  std::size_t ranks = 0;
  for (const Sample& sample : samples) ranks = std::max(ranks, sample.seconds.size());
  const auto seconds = [](const Sample& sample, std::size_t rank) {
    return rank < sample.seconds.size() ? nullable(sample.seconds[rank]) : Out(nullptr);
  };
  Out out{{"case", column(samples, &Sample::case_index)},
          {"variant", column(samples, &Sample::variant)},
          {"launch", column(samples, &Sample::launch)},
          {"round", column(samples, &Sample::round)},
          {"position", column(samples, &Sample::position)},
          {"operations", column(samples, &Sample::operations)},
          {"seconds_by_rank", columns_by_rank(samples, ranks, seconds)},
          {"temperature_c_by_rank", health_columns(samples, ranks, &Health::temperature_c)},
          {"power_w_by_rank", health_columns(samples, ranks, &Health::power_w)},
          {"sm_clock_mhz_by_rank", health_columns(samples, ranks, &Health::sm_clock_mhz)},
          {"clock_event_reasons_by_rank",
           health_columns(samples, ranks, &Health::clock_event_reasons)}};
  const auto has_loss = [](const Sample& sample) { return sample.loss.has_value(); };
  if (std::any_of(samples.begin(), samples.end(), has_loss)) out["loss"] = losses(samples);
  return out;
}

std::vector<Sample> read_samples(const In& json) {
  std::vector<Sample> samples(json.at("case").size());
  read_column(json, "case", samples, &Sample::case_index);
  read_column(json, "variant", samples, &Sample::variant);
  read_column(json, "launch", samples, &Sample::launch);
  read_column(json, "round", samples, &Sample::round);
  read_column(json, "position", samples, &Sample::position);
  read_column(json, "operations", samples, &Sample::operations);
  read_losses(json, samples);
  for (const char* key : {"seconds_by_rank", "temperature_c_by_rank", "power_w_by_rank",
                          "sm_clock_mhz_by_rank", "clock_event_reasons_by_rank"}) {
    require_columns(json, key, samples.size());
  }
  const In& seconds = json.at("seconds_by_rank");
  for (std::size_t row = 0; row < samples.size(); ++row) {
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      samples[row].seconds.push_back(cell<double>(seconds, rank, row));
      samples[row].health.push_back(
          {cell<int>(json.at("temperature_c_by_rank"), rank, row),
           cell<double>(json.at("power_w_by_rank"), rank, row),
           cell<int>(json.at("sm_clock_mhz_by_rank"), rank, row),
           cell<std::uint64_t>(json.at("clock_event_reasons_by_rank"), rank, row)});
    }
  }
  return samples;
}

}  // namespace linkgain::json
