#include "comparison_cells.hpp"

#include <fmt/format.h>

#include "linkgain/core/ratio.hpp"
#include "linkgain/core/units.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

RatioText text_of(const Interval& speed_up) {
  Ratio ratio;
  ratio.estimate = speed_up.estimate;
  ratio.low = speed_up.low;
  ratio.high = speed_up.high;
  return readable_ratio(ratio);
}

std::string with_interval(const Interval& speed_up) {
  const RatioText text = text_of(speed_up);
  return fmt::format("{}, 95 % CI {} to {}", text.estimate, *text.low, *text.high);
}

}  // namespace

std::string what_is_timed(const CaseComparison& each) {
  return each.definition ? "the same " + spoken_operation(*each.definition) : each.name;
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
  const RatioText text = text_of(*each.speed_up);
  return {text.estimate,
          fmt::format("{}–{}", text.low->substr(0, text.low->size() - 1), *text.high),
          readable_percent(less_time(each.speed_up->estimate))};
}

std::string label_of(const CaseComparison& each) {
  return each.definition ? case_label(*each.definition) : each.name;
}

std::string verdict_sentence(const std::string& what, const CaseComparison& each,
                             double threshold) {
  switch (each.verdict) {
    case CaseVerdict::same:
      return fmt::format("After, {} takes the same time within {} ({}).", what,
                         readable_percent(threshold), with_interval(*each.speed_up));
    case CaseVerdict::faster:
      return fmt::format("After, {} takes {} less time ({}).", what,
                         readable_percent(less_time(each.speed_up->estimate)),
                         with_interval(*each.speed_up));
    case CaseVerdict::slower:
      return fmt::format("After, {} does not take less time, it takes longer ({}).", what,
                         with_interval(*each.speed_up));
    case CaseVerdict::inconclusive:
      return fmt::format(
          "Whether {} takes another time after cannot be told ({}); more launches would tell.",
          what, with_interval(*each.speed_up));
    case CaseVerdict::not_comparable:
    case CaseVerdict::missing:
      return fmt::format("{}: {}: {}.", what, name_of(each.verdict), each.reason);
  }
  return {};
}

}  // namespace linkgain
