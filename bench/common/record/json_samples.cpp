#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record_json.hpp"

namespace linkgain::json {
namespace {

/// A sample with the place of its case in the record.
struct Row {
  int case_index;
  const Sample* sample;
};
using Rows = std::vector<Row>;

/// A value of every row as one column.
template <typename Value>
Out column(const Rows& rows, Value value) {
  return array_of(rows, value);
}

/// A member of every sample as one column.
template <typename T>
Out column(const Rows& rows, T Sample::*member) {
  return column(rows, [member](const Row& row) { return row.sample->*member; });
}

/// A value of every sample's rank as one column for each rank; null where the rank has none.
template <typename Value>
Out columns_by_rank(const Rows& rows, std::size_t ranks, Value value) {
  Out columns = Out::array();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    columns.push_back(column(rows, [&](const Row& row) { return value(*row.sample, rank); }));
  }
  return columns;
}

template <typename Member>
Out health_columns(const Rows& rows, std::size_t ranks, Member member) {
  return columns_by_rank(rows, ranks, [member](const Sample& sample, std::size_t rank) {
    return rank < sample.health.size() ? nullable(sample.health[rank].*member) : Out(nullptr);
  });
}

Out write_rows(const Rows& rows) {
  std::size_t ranks = 0;
  for (const Row& row : rows) ranks = std::max(ranks, row.sample->seconds.size());
  const auto seconds = [](const Sample& sample, std::size_t rank) {
    return rank < sample.seconds.size() ? nullable(sample.seconds[rank]) : Out(nullptr);
  };
  Out out{
      {"case", column(rows, [](const Row& row) { return row.case_index; })},
      {"variant", column(rows, &Sample::variant)},
      {"launch", column(rows, &Sample::launch)},
      {"round", column(rows, &Sample::round)},
      {"position", column(rows, &Sample::position)},
      {"operations", column(rows, &Sample::operations)},
      {"seconds_by_rank", columns_by_rank(rows, ranks, seconds)},
      {"temperature_c_by_rank", health_columns(rows, ranks, &Health::temperature_c)},
      {"power_w_by_rank", health_columns(rows, ranks, &Health::power_w)},
      {"sm_clock_mhz_by_rank", health_columns(rows, ranks, &Health::sm_clock_mhz)},
      {"clock_event_reasons_by_rank", health_columns(rows, ranks, &Health::clock_event_reasons)}};
  const auto has_loss = [](const Row& row) { return row.sample->loss.has_value(); };
  if (std::any_of(rows.begin(), rows.end(), has_loss)) {
    out["loss"] = column(rows, [](const Row& row) { return nullable(row.sample->loss); });
  }
  return out;
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

std::vector<Sample> read_rows(const In& json) {
  std::vector<Sample> samples(json.at("case").size());
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

/// The case that a sample is of. Throws UsageError where there is no such case, or no such variant.
CaseResult& owner_of(const Sample& sample, std::size_t place, std::vector<CaseResult>& cases) {
  const auto variant = static_cast<std::size_t>(sample.variant);
  if (place < cases.size() && variant < cases[place].variants.size()) return cases[place];
  throw UsageError(
      fmt::format("a sample is of case {} and variant {}, which the record does not have",
                  static_cast<std::int64_t>(place), sample.variant));
}

}  // namespace

Out write_samples(const std::vector<CaseResult>& cases) {
  Rows rows;
  for (std::size_t place = 0; place < cases.size(); ++place) {
    for (const Sample& sample : cases[place].samples) {
      rows.push_back({static_cast<int>(place), &sample});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.sample->sequence < b.sample->sequence;
  });
  return write_rows(rows);
}

Out write_samples(int case_index, const std::vector<Sample>& samples) {
  Rows rows;
  for (const Sample& sample : samples) rows.push_back({case_index, &sample});
  return write_rows(rows);
}

void read_samples(const In& json, std::vector<CaseResult>& cases, int first_sequence) {
  std::vector<Sample> samples = read_rows(json);
  const In& places = json.at("case");
  for (std::size_t row = 0; row < samples.size(); ++row) {
    samples[row].sequence = first_sequence + static_cast<int>(row);
    CaseResult& owner = owner_of(samples[row], places[row].get<std::size_t>(), cases);
    owner.samples.push_back(std::move(samples[row]));
  }
}

}  // namespace linkgain::json
