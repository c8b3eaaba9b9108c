#include "comparison_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/statistics/ratio.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

RatioText ratio_text(const Interval& speed_up) {
  Ratio ratio;
  ratio.estimate = speed_up.estimate;
  ratio.low = speed_up.low;
  ratio.high = speed_up.high;
  return readable_ratio(ratio);
}

std::string with_interval(const Interval& speed_up) {
  const RatioText text = ratio_text(speed_up);
  return fmt::format("{}, 95 % CI {} to {}", text.estimate, *text.low, *text.high);
}

std::string capitalized(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text;
}

}  // namespace

std::string what_is_timed(const CaseComparison& each) {
  return "the same " + spoken_operation(each.definition);
}

std::string value_cell(const CaseFigures* figures, Metric metric) {
  if (figures == nullptr || !figures->no_time.empty()) {
    return {};
  }
  switch (metric) {
    case Metric::time:
      return figures->time ? readable_time(*figures->time) : std::string{};
    case Metric::busbw:
      return figures->busbw ? readable_bandwidth(*figures->busbw) : std::string{};
    case Metric::algbw:
      return figures->algbw ? readable_bandwidth(*figures->algbw) : std::string{};
  }
  return {};
}

std::vector<std::string> speed_up_cells(const CaseComparison& each) {
  if (!each.speed_up) {
    return {"", "", ""};
  }
  const RatioText text = ratio_text(*each.speed_up);
  return {text.estimate,
          fmt::format("{}–{}", text.low->substr(0, text.low->size() - 1), *text.high),
          readable_percent(less_time(each.speed_up->estimate))};
}

std::string verdict_sentence(const std::string& what, const CaseComparison& each, double threshold,
                             const Sides& sides) {
  const std::string begin = capitalized(sides.after);
  const std::string than = sides.before.empty() ? "" : " than " + sides.before;
  switch (each.verdict) {
    case CaseVerdict::same:
      return fmt::format("{}, {} takes the same time{} within {} ({}).", begin, what,
                         sides.before.empty() ? "" : " as " + sides.before,
                         readable_percent(threshold), with_interval(*each.speed_up));
    case CaseVerdict::faster:
      return fmt::format("{}, {} takes {} less time{} ({}).", begin, what,
                         readable_percent(less_time(each.speed_up->estimate)), than,
                         with_interval(*each.speed_up));
    case CaseVerdict::slower:
      return fmt::format("{}, {} does not take less time{}, it takes {} longer ({}).", begin, what,
                         than, readable_percent(-less_time(each.speed_up->estimate), Whole::no),
                         with_interval(*each.speed_up));
    case CaseVerdict::inconclusive:
      return fmt::format(
          "Whether {} takes another time {}{} cannot be told ({}); more launches would tell.", what,
          sides.after, than, with_interval(*each.speed_up));
    case CaseVerdict::not_comparable:
    case CaseVerdict::missing:
      return fmt::format("{}: {}: {}.", what, name_of(each.verdict), each.reason);
  }
  return {};
}

std::string name_and_start(const RunFigures& run) {
  return run.started.empty() ? run.name : fmt::format("{} ({})", run.name, run.started);
}

std::string text_of(const Change& change) {
  return fmt::format("{}: {} → {}", change.what, change.before, change.after);
}

std::string counts_of(const std::vector<CaseVerdict>& verdicts) {
  constexpr std::array kVerdicts{CaseVerdict::faster,         CaseVerdict::slower,
                                 CaseVerdict::same,           CaseVerdict::inconclusive,
                                 CaseVerdict::not_comparable, CaseVerdict::missing};
  std::vector<std::string> counts;
  for (const CaseVerdict verdict : kVerdicts) {
    const auto count = std::count(verdicts.begin(), verdicts.end(), verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

std::string value_legend(bool trainings) {
  return fmt::format("A run's value is the geometric mean of its launches' medians.{}",
                     trainings ? " A training's time is that of a step; it has no bandwidth." : "");
}

std::string verdict_legend(double threshold) {
  const std::string percent = readable_percent(threshold);
  return fmt::format(
      "Faster and slower: by more than {}, and 1 is outside the 95 % interval; same: the whole "
      "interval is within {}.",
      percent, percent);
}

}  // namespace linkgain
