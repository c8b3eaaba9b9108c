#include "sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

bool is_named(const CaseSummary& each) { return each.contrast == Contrast::variant; }

/// Names what the first variant has.
std::string subject_of(const CaseSummary& each, const Comparison& comparison) {
  if (is_named(each)) return comparison.first->variant;
  const Words words = words_of(each.contrast);
  return std::string(each.contrast == Contrast::nvlink ? words.title : words.subject);
}

/// Says "with P2P and without", "with a and with b"; of a program "runs with and without P2P", "a
/// and b".
std::string sides_of(const CaseSummary& each, const Comparison& comparison) {
  const std::string subject = subject_of(each, comparison);
  const std::string& other = comparison.other->variant;
  if (is_program(each.definition().operation)) {
    return is_named(each) ? fmt::format("{} and {}", subject, other)
                          : fmt::format("runs with and without {}", subject);
  }
  return is_named(each) ? fmt::format("with {} and with {}", subject, other)
                        : fmt::format("with {} and without", subject);
}

/// Says "6 launches"; of a program "6 runs each", "5 and 6 runs".
std::string replicates_text(const CaseSummary& each, const Comparison& comparison) {
  if (!each.definition().metric) return fmt::format("{} launches", comparison.ratio->replicates);
  const std::size_t own = each.find(comparison.first->variant)->launches;
  const std::size_t others = each.find(comparison.other->variant)->launches;
  return own == others
             ? fmt::format("{} each", counted(static_cast<std::int64_t>(own), "run", "runs"))
             : fmt::format("{} and {} runs", own, others);
}

std::string figures_of(const CaseSummary& each, const Comparison& comparison) {
  const RatioText text = readable_ratio(*comparison.ratio);
  if (!comparison.has_interval()) return fmt::format("({}, no confidence interval)", text.estimate);
  return fmt::format("({} over {})", text.with_interval(), replicates_text(each, comparison));
}

/// Says "With P2P, loss is 23 % lower (0.77x, 95 % CI …)": the number itself, not what it is of
/// the other.
std::string metric_change(const CaseSummary& each, const Comparison& comparison) {
  const ProgramMetric& metric = *each.definition().metric;
  const double ratio = comparison.ratio->value;
  const double now = metric.higher_is_better ? ratio : 1.0 / ratio;
  const bool is_more = now > 1.0;
  return fmt::format("{} is {} {}", metric_label(metric),
                     readable_percent(std::abs(now - 1.0), is_more ? Whole::no : Whole::yes),
                     is_more ? "higher" : "lower");
}

/// Says "the training in bf16 takes 23 % less time", as the guide does, "takes 5.1 % more time".
std::string training_change(const Case& training, double ratio) {
  return fmt::format(
      "the training in {} takes {} {} time", training_label(training),
      readable_percent(std::abs(less_time(ratio)), ratio >= 1.0 ? Whole::yes : Whole::no),
      ratio >= 1.0 ? "less" : "more");
}

Text wrong_data_sentence(const CaseSummary& each, const Comparison& comparison) {
  Text sentence;
  for (const VariantResult* variant : {comparison.first, comparison.other}) {
    if (!has_wrong_data(*variant)) continue;
    sentence += wrong_data_mark();
    sentence += fmt::format(" with {}: {}. ", variant->variant,
                            describe_wrong(each.definition(), *variant->verification));
  }
  return sentence + "No speed-up is given.";
}

std::string not_measured_sentence(const Comparison& comparison) {
  std::string sentence =
      fmt::format("Nothing was measured with both {} and {}, so no speed-up is given.",
                  comparison.first->variant, comparison.other->variant);
  if (comparison.other->skipped.has_value()) {
    sentence += fmt::format(" {} was skipped: {}.", comparison.other->variant,
                            why_skipped(*comparison.other));
  }
  return sentence;
}

std::string same_path_sentence(const CaseSummary& each, const Comparison& comparison) {
  const std::string_view path = readable_path(comparison.first->path);
  if (each.contrast == Contrast::p2p) {
    return fmt::format(
        "Both took the same path, {}, with P2P allowed and with P2P off: these times do not "
        "show what P2P is worth, so no speed-up is given.",
        path);
  }
  return fmt::format(
      "{} and {} took the same path, {}: these times do not show what another path is worth, "
      "so no speed-up is given.",
      comparison.first->variant, comparison.other->variant, path);
}

/// Says which runs of the two variants are missing: who is slow, and so runs out of time or memory,
/// may be among them. "5 of 10 runs with host failed or gave no loss".
std::string lost_runs_text(const CaseSummary& each, const Comparison& comparison) {
  std::vector<std::string> lost;
  for (const VariantResult* variant : {comparison.first, comparison.other}) {
    const EndedRuns& ended = each.find(variant->variant)->ended;
    if (ended.lost() == 0) continue;
    const std::string no_number = "gave no " + each.definition().metric->name;
    lost.push_back(fmt::format("{} of {} runs with {} {}", ended.lost(), ended.all,
                               variant->variant,
                               ended.failed == 0    ? no_number
                               : ended.lacking == 0 ? "failed"
                                                    : "failed or " + no_number));
  }
  return fmt::format("{}", fmt::join(lost, ", "));
}

/// Says which of the two variants gave no number; one may not have been run any more.
std::string no_number_text(const VariantSummary& first, const VariantSummary& other) {
  const std::string& name = first.result->variant;
  const std::string& other_name = other.result->variant;
  const auto alone = [](const VariantSummary& each) {
    return each.ended.all > 0 ? each.result->variant + " gave none"
                              : fmt::format("no run with {} had ended", each.result->variant);
  };
  if (first.launches > 0) return alone(other);
  if (other.launches > 0) return alone(first);
  for (const auto& [each, asked] : {std::pair(&first, &other_name), std::pair(&other, &name)}) {
    if (each->ended.all > 0) continue;
    return fmt::format("{} was not run, since {} gave none", each->result->variant, *asked);
  }
  return "neither gave one";
}

/// Finds the variant of which all runs failed, before the other one, of which none did; nulls where
/// there is none.
std::pair<const VariantSummary*, const VariantSummary*> failed_alone(const CaseSummary& each,
                                                                     const Comparison& comparison) {
  const VariantSummary* const first = each.find(comparison.first->variant);
  const VariantSummary* const other = each.find(comparison.other->variant);
  for (const auto& [lost, good] : {std::pair(first, other), std::pair(other, first)}) {
    const bool is_lost = lost->ended.all > 0 && lost->ended.failed == lost->ended.all;
    if (is_lost && good->launches > 0 && good->ended.lost() == 0) return {lost, good};
  }
  return {};
}

/// Says why nothing is claimed of a program's variant beside the first one.
std::string not_compared_sentence(const CaseSummary& each, const Comparison& comparison) {
  const std::string metric = metric_label(*each.definition().metric);
  const std::string& first = comparison.first->variant;
  const std::string& other = comparison.other->variant;
  if (const auto [lost, good] = failed_alone(each, comparison); lost != nullptr) {
    const auto runs = [](std::size_t count) {
      return counted(static_cast<std::int64_t>(count), "run", "runs");
    };
    return fmt::format("No comparison: every run with {} failed ({}); {} ran well ({}, {} {}).",
                       lost->result->variant, runs(lost->ended.all), good->result->variant,
                       runs(good->launches), each.definition().metric->name,
                       readable_value(*each.definition().metric, *good->result->time));
  }
  if (comparison.has(Reason::Kind::lost_runs)) {
    return fmt::format("No comparison of {} with {}: {}; these may be the slow ones.", first, other,
                       lost_runs_text(each, comparison));
  }
  if (comparison.has(Reason::Kind::few_runs)) {
    return fmt::format("Too few runs to compare the {} of {}: {}.", metric,
                       sides_of(each, comparison), replicates_text(each, comparison));
  }
  return fmt::format("No comparison of {} with {}: {}.", metric, other,
                     no_number_text(*each.find(first), *each.find(other)));
}

std::string no_change_sentence(const CaseSummary& each, const Comparison& comparison) {
  const std::string sides = sides_of(each, comparison);
  const std::string figures = figures_of(each, comparison);
  if (each.definition().metric) {
    return fmt::format("No difference in {} shown between {} {}.",
                       metric_label(*each.definition().metric), sides, figures);
  }
  const std::string training = "the same training in " + training_label(each.definition());
  return comparison.verdict == Verdict::same
             ? fmt::format("No difference was found between {} {} {}.", training, sides, figures)
             : fmt::format("Inconclusive: {} {} {}. {}", training, sides, figures,
                           remedy_sentence(each));
}

/// Says "With a, a step is 1.43x as fast as with b (95 % CI 1.40x to 1.46x over 6 runs each).", of
/// a training "With a the training in bf16 takes 23 % less time than with b (1.29x, 95 % CI …)."
std::string change_sentence(const CaseSummary& each, const Comparison& comparison) {
  const std::optional<ProgramMetric>& metric = each.definition().metric;
  const std::string subject = subject_of(each, comparison);
  const std::string& other = comparison.other->variant;
  const bool is_timed_metric = metric && is_timed(*metric);
  std::string change;
  std::string figures = figures_of(each, comparison);
  if (is_timed_metric) {
    const SpokenRatio spoken = spoken_ratio(*comparison.ratio);
    const bool is_faster = comparison.ratio->value >= 1.0;
    change = fmt::format("With {}, {}{}{} {} {}{}", subject,
                         metric->name == ProgramMetric::kTime ? "the command" : "a " + metric->name,
                         metric->at.empty() ? "" : " at ", metric->at, is_faster ? "is" : "takes",
                         spoken.words, is_named(each) ? " as with " + other : "");
    figures = comparison.has_interval()
                  ? fmt::format("(95 % CI {} to {} over {})", *spoken.text.low, *spoken.text.high,
                                replicates_text(each, comparison))
                  : "";
  } else {
    change = fmt::format("With {}{} {}{}", subject, metric ? "," : "",
                         metric ? metric_change(each, comparison)
                                : training_change(each.definition(), comparison.ratio->value),
                         is_named(each) ? " than with " + other : "");
  }
  if (comparison.has_interval()) return fmt::format("{} {}.", change, figures);
  const std::string ratio =
      is_timed_metric ? "" : fmt::format(" ({})", readable_ratio(*comparison.ratio).estimate);
  return fmt::format("{}{}. All runs of a variant agree, so there is no confidence interval.",
                     change, ratio);
}

}  // namespace

Words words_of(Contrast contrast) {
  switch (contrast) {
    case Contrast::nvlink:
      return {"NVLink", "P2P"};
    case Contrast::p2p:
      return {"P2P", "P2P"};
    case Contrast::shared_memory:
      return {"Shared memory", "shared memory"};
    case Contrast::variant:
      return {"Variant", ""};
  }
  return {"Variant", ""};
}

std::string row_name(const CaseSummary& each, std::size_t variant) {
  if (each.contrast == Contrast::variant || each.variants[variant].is_control) {
    return each.result->variants[variant].variant;
  }
  return variant == 0 ? "Y" : "N";
}

Lack lacking_speed_up(const CaseSummary& each, const Comparison& comparison) {
  constexpr const char* kNothing = "No comparison";
  const VariantSummary& first = *each.find(comparison.first->variant);
  const VariantSummary& other = *each.find(comparison.other->variant);
  if (const auto [lost, good] = failed_alone(each, comparison); lost != nullptr) {
    return {fmt::format("Only {} ran", good->result->variant),
            fmt::format("every run with {} failed", lost->result->variant)};
  }
  if (first.launches + other.launches == 0) return {kNothing, "no run ended well"};
  if (comparison.has(Reason::Kind::lost_runs)) return {kNothing, lost_runs_text(each, comparison)};
  if (comparison.has(Reason::Kind::few_runs)) return {kNothing, "there are too few runs"};
  return {kNothing, no_number_text(first, other)};
}

std::string remedy_sentence(const CaseSummary& each) {
  return each.remedy == Remedy::time ? "Raise --budget." : "Use more launches.";
}

Text outcome_sentence(const CaseSummary& each, const Comparison& comparison) {
  if (comparison.verdict == Verdict::wrong_data) return wrong_data_sentence(each, comparison);
  if (comparison.verdict == Verdict::same_path) return same_path_sentence(each, comparison);
  if (!comparison.has_speed_up()) {
    return each.definition().metric ? not_compared_sentence(each, comparison)
                                    : not_measured_sentence(comparison);
  }
  if (each.definition().metric && is_one(comparison.ratio->value) &&
      all_agree(*each.result, static_cast<std::size_t>(comparison.other - comparison.first))) {
    return fmt::format("No difference between {}: all runs gave the same {}{}.",
                       sides_of(each, comparison), metric_label(*each.definition().metric),
                       comparison.has_interval() ? ", to the digits printed" : "");
  }
  return is_change(comparison.verdict) ? change_sentence(each, comparison)
                                       : no_change_sentence(each, comparison);
}

std::string control_sentence(const std::vector<const CaseSummary*>& along, std::size_t control) {
  const auto beside = [=](const CaseSummary* each) -> const Comparison& {
    return each->comparisons[control - 1];
  };
  const ProgramMetric& metric = *along.front()->definition().metric;
  const std::string who =
      fmt::format("The control, which runs as {} does,", beside(along.front()).first->variant);
  for (const CaseSummary* each : along) {
    if (!is_change(beside(each).verdict)) continue;
    return fmt::format("{} differs from it in {} {}: smaller differences mean nothing in this run.",
                       who, metric_label(*each->definition().metric),
                       figures_of(*each, beside(each)));
  }
  for (const CaseSummary* each : along) {
    if (!beside(each).has_speed_up()) return not_compared_sentence(*each, beside(each));
  }
  double least = 1.0;  // that all intervals would show
  bool is_precise = true;
  for (const CaseSummary* each : along) {
    const Comparison& comparison = beside(each);
    is_precise = is_precise && comparison.is_precise;
    if (!comparison.has_interval()) continue;
    const Interval& interval = *comparison.ratio->interval;
    least = std::max({least, interval.high, 1.0 / interval.low});
  }
  const std::string wide = fmt::format("but a change of less than {} would not show",
                                       readable_ratio({.value = least}).estimate);
  return fmt::format("{} shows no difference in {}{}, {}.", who, metric.name,
                     along.size() > 1 ? fmt::format(" at any {}", axis_of(metric))
                                      : " " + figures_of(*along.front(), beside(along.front())),
                     is_precise || least == 1.0 ? "as it should" : wide);
}

}  // namespace linkgain
