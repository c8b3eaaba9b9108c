#include "linkgain/record/record_members.hpp"

#include <algorithm>
#include <utility>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

/// A sample with the place of its case in the record.
struct Row {
  std::size_t place;
  const Sample* sample;
};
using Rows = std::vector<Row>;

/// Makes of a value of every sample's rank one column for each rank; absent where the rank has
/// none.
template <typename T, typename Value>
void add_columns(const Rows& rows, std::size_t ranks, std::vector<std::vector<T>>& columns,
                 Value value) {
  columns.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Row& row : rows) columns[rank].push_back(value(*row.sample, rank));
  }
}

/// Makes the same of a member of the rank's health.
template <typename T>
void add_health(const Rows& rows, std::size_t ranks, std::vector<std::vector<T>>& columns,
                T Health::*member) {
  add_columns(rows, ranks, columns, [member](const Sample& sample, std::size_t rank) {
    return rank < sample.health.size() ? sample.health[rank].*member : T();
  });
}

/// Makes a column of a member of every sample; none where all have its default.
template <typename T>
void add_sparse(const Rows& rows, std::vector<T>& column, T Sample::*member) {
  const auto has_value = [member](const Row& row) { return row.sample->*member != T(); };
  if (std::ranges::none_of(rows, has_value)) return;
  for (const Row& row : rows) column.push_back(row.sample->*member);
}

SampleTable table_of(const Rows& rows) {
  SampleTable table;
  std::size_t ranks = 0;
  for (const auto& [place, sample] : rows) {
    ranks = std::max(ranks, sample->times.size());
    table.place.push_back(static_cast<std::int64_t>(place));
    table.variant.push_back(sample->variant);
    table.launch.push_back(sample->launch);
    table.round.push_back(sample->round);
    table.position.push_back(sample->position);
    table.operations.push_back(sample->operations);
  }
  add_columns(rows, ranks, table.seconds_by_rank, [](const Sample& sample, std::size_t rank) {
    return rank < sample.times.size() ? seconds_of(sample.times[rank]) : std::nullopt;
  });
  add_health(rows, ranks, table.temperature_c_by_rank, &Health::temperature_c);
  add_health(rows, ranks, table.power_w_by_rank, &Health::power_w);
  add_health(rows, ranks, table.sm_clock_mhz_by_rank, &Health::sm_clock_mhz);
  add_health(rows, ranks, table.clock_event_reasons_by_rank, &Health::clock_event_reasons);
  add_sparse(rows, table.loss, &Sample::loss);
  add_sparse(rows, table.resolution, &Sample::resolution);
  add_sparse(rows, table.disturbed, &Sample::disturbed);
  add_sparse(rows, table.unverified, &Sample::unverified);
  return table;
}

void require_length(const char* key, std::size_t length, std::size_t rows) {
  if (length == rows) return;
  throw UsageError(std::string("samples: column '") + key + "' has another length");
}

/// Refuses a table whose columns describe_members() names with different lengths.
class LengthCheck {
 public:
  explicit LengthCheck(std::size_t rows) : rows_(rows) {}

  template <typename T>
  void operator()(const char* key, const std::vector<T>& column, const char* = "",
                  const json::Rule& = {}) const {
    require_length(key, column.size(), rows_);
  }
  template <typename T>
  void operator()(const char* key, const std::vector<std::vector<T>>& columns, const char* = "",
                  const json::Rule& = {}) const {
    for (const std::vector<T>& of_rank : columns) require_length(key, of_rank.size(), rows_);
  }
  template <typename T>
  void sparse(const char* key, const std::vector<T>& column, const char* = "",
              const json::Rule& = {}) const {
    if (!column.empty()) require_length(key, column.size(), rows_);
  }
  void section(const char*, const char*) const {}

 private:
  std::size_t rows_;
};

template <typename T>
std::optional<T> cell(const std::vector<std::vector<std::optional<T>>>& columns, std::size_t rank,
                      std::size_t row) {
  return rank < columns.size() ? columns[rank][row] : std::nullopt;
}

}  // namespace

SampleTable table_of(const std::vector<CaseResult>& cases) {
  Rows rows;
  for (std::size_t place = 0; place < cases.size(); ++place) {
    for (const Sample& sample : cases[place].samples) rows.push_back({place, &sample});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.sample->sequence; });
  return table_of(rows);
}

SampleTable table_of(std::size_t place, std::span<const Sample> samples) {
  Rows rows;
  for (const Sample& sample : samples) rows.push_back({place, &sample});
  return table_of(rows);
}

Sample sample_at(const SampleTable& table, std::size_t row) {
  Sample sample;
  sample.variant = table.variant[row];
  sample.launch = table.launch[row];
  sample.round = table.round[row];
  sample.position = table.position[row];
  sample.operations = table.operations[row];
  const std::size_t ranks = table.seconds_by_rank.size();
  sample.times.reserve(ranks);
  sample.health.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::optional<double>& time = table.seconds_by_rank[rank][row];
    sample.times.push_back(time ? std::optional(Seconds{*time}) : std::nullopt);
    sample.health.push_back({cell(table.temperature_c_by_rank, rank, row),
                             cell(table.power_w_by_rank, rank, row),
                             cell(table.sm_clock_mhz_by_rank, rank, row),
                             cell(table.clock_event_reasons_by_rank, rank, row)});
  }
  if (!table.loss.empty()) sample.loss = table.loss[row];
  if (!table.resolution.empty()) sample.resolution = table.resolution[row];
  if (!table.disturbed.empty()) sample.disturbed = table.disturbed[row];
  if (!table.unverified.empty()) sample.unverified = table.unverified[row];
  return sample;
}

void require_columns(const SampleTable& table) {
  LengthCheck check(table.place.size());
  describe_members(check, table);
}

}  // namespace linkgain
