#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostColumns = 6;
constexpr std::size_t kMostLaunchRows = 24;
/// Rows with errors, beside those.
constexpr std::size_t kMostErrorRows = 24;

/// Chooses what drifted first, then the first variant's in their order.
std::vector<const SoakColumn*> shown_columns(const SoakSummary& soak) {
  std::vector<const SoakColumn*> shown;
  for (const SoakColumn& each : soak.columns) shown.push_back(&each);
  const std::string& first = soak.columns.front().variant;
  std::ranges::stable_sort(shown, std::greater{}, [&](const SoakColumn* each) {
    return std::pair(each->drift ? each->drift->ratio : 0.0, each->variant == first);
  });
  shown.resize(std::min(shown.size(), kMostColumns));
  return shown;
}

/// Chooses them evenly over the run, the last one included, and those in which errors were counted.
std::vector<std::size_t> shown_rows(const SoakSummary& soak) {
  const std::size_t count = soak.rows.size();
  const std::size_t step = divide_up(count, kMostLaunchRows);
  std::size_t with_errors = 0;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < count; ++i) {
    const bool errors = soak.rows[i].errors > 0 && ++with_errors <= kMostErrorRows;
    if (errors || i % step == 0 || i + 1 == count) shown.push_back(i);
  }
  return shown;
}

/// Says "1:02:05" of hours, minutes and seconds.
std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Document soak_section(const RunSummary& summary) {
  if (!summary.soak || summary.soak->columns.empty()) return {};
  const SoakSummary& soak = *summary.soak;
  std::vector<Table::Column> titles{{"Launch", kRight}, {"Begin", kRight}};
  if (soak.counted_errors) titles.push_back({"Errors", kRight});
  titles.push_back({"°C", kRight, true});
  const std::vector<const SoakColumn*> columns = shown_columns(soak);
  for (const SoakColumn* each : columns) {
    titles.push_back({fmt::format("{}, {}", case_label(each->definition), each->variant), kRight});
  }
  leave_out_from_the_right(titles);
  Table table(titles);
  const std::vector<std::size_t> rows = shown_rows(soak);
  for (const std::size_t place : rows) {
    const SoakRow& row = soak.rows[place];
    Cells cells{std::to_string(row.launch + 1), clock_time(row.after_s)};
    if (soak.counted_errors) cells.push_back(std::to_string(row.errors));
    const auto& temperature = row.highest_temperature_c;
    cells.push_back(temperature ? std::to_string(*temperature) : "");
    for (const SoakColumn* each : columns) {
      const std::optional<Seconds>& time = each->times[place];
      cells.push_back(time ? readable_result(each->definition, *time) : "");
    }
    table.add_row(cells);
  }
  Document document;
  document.heading("Over time");
  document.table(std::move(table));
  if (rows.size() < soak.rows.size() || columns.size() < soak.columns.size()) {
    document.paragraph(
        fmt::format("{} of {} launches and {} of {} times are shown; the record has all.",
                    rows.size(), soak.rows.size(), columns.size(), soak.columns.size()));
  }
  for (const std::string& each : soak.degraded) document.item(each);
  return document;
}

}  // namespace linkgain
