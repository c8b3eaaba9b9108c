#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/statistics/ratio.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kHeader =
    "before,after,case,variant,before_time_s,after_time_s,before_busbw_gb_per_s,"
    "after_busbw_gb_per_s,before_algbw_gb_per_s,after_algbw_gb_per_s,before_path,after_path,"
    "before_launches,after_launches,speed_up,speed_up_low,speed_up_high,less_time,launch_spread,"
    "spread_assumed,verdict,reason\n";

std::optional<double> time_of(const CaseFigures* figures) {
  if (figures == nullptr || !figures->time) {
    return std::nullopt;
  }
  return figures->time->value;
}

std::optional<double> bandwidth_of(const CaseFigures* figures,
                                   std::optional<double> CaseFigures::*which) {
  return figures == nullptr ? std::nullopt : figures->*which;
}

std::string path_of(const CaseFigures* figures) {
  return figures == nullptr || !figures->time ? std::string{} : std::string(name_of(figures->path));
}

std::string launches_of(const CaseFigures* figures) {
  return figures == nullptr ? std::string{} : fmt::format("{}", figures->launches.size());
}

void add_difference(std::vector<std::string>& fields, const CaseComparison& each) {
  if (!each.speed_up) {
    fields.insert(fields.end(), 6, "");
    return;
  }
  fields.push_back(csv_field(each.speed_up->estimate));
  fields.push_back(csv_field(each.speed_up->low));
  fields.push_back(csv_field(each.speed_up->high));
  fields.push_back(csv_field(less_time(each.speed_up->estimate)));
  fields.push_back(csv_field(each.spread->deviation));
  fields.emplace_back(each.spread->degrees_of_freedom ? "false" : "true");
}

std::string row(const RunComparison& comparison, const CaseComparison& each) {
  const CaseFigures* before = each.before;
  const CaseFigures* after = each.after;
  std::vector<std::string> fields{csv_field(std::string_view(comparison.before->name)),
                                  csv_field(std::string_view(comparison.after->name)),
                                  csv_field(std::string_view(each.name)),
                                  csv_field(std::string_view(each.variant)),
                                  csv_field(time_of(before)),
                                  csv_field(time_of(after)),
                                  csv_field(bandwidth_of(before, &CaseFigures::busbw)),
                                  csv_field(bandwidth_of(after, &CaseFigures::busbw)),
                                  csv_field(bandwidth_of(before, &CaseFigures::algbw)),
                                  csv_field(bandwidth_of(after, &CaseFigures::algbw)),
                                  path_of(before),
                                  path_of(after),
                                  launches_of(before),
                                  launches_of(after)};
  add_difference(fields, each);
  fields.emplace_back(name_of(each.verdict));
  fields.push_back(csv_field(std::string_view(each.reason)));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string comparison_csv(const std::vector<RunComparison>& comparisons) {
  std::string text(kHeader);
  for (const RunComparison& comparison : comparisons) {
    for (const CaseComparison& each : comparison.cases) {
      text += row(comparison, each);
    }
  }
  return text;
}

}  // namespace linkgain
