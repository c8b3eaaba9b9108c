#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/tables/number_format.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Shows bandwidth of what is large enough for one, else time; there is one.
std::string answer_value(const Case& definition, const VariantResult& variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  const bool large = definition.size.value >= kLeastForBandwidth;
  const bool by_time = is_training(definition.operation) || is_latency(definition.operation);
  return variant.busbw && large && !by_time ? readable_bandwidth(*variant.busbw)
                                            : readable_time(*variant.time);
}

/// Says "324.3 against 25.7 GB/s", "784.00 ns against 1.82 us".
std::string values_text(const Case& definition, const VariantResult& own,
                        const VariantResult& other) {
  std::string before = answer_value(definition, own);
  const std::string after = answer_value(definition, other);
  const std::size_t unit = before.find(' ');
  if (before.substr(unit) == after.substr(after.find(' '))) before.resize(unit);
  return fmt::format("{} against {}", before, after);
}

/// Says "95 % CI 12.4x to 12.9x over 6 launches".
std::string interval_text(const RatioText& text, const Estimate& ratio) {
  return text.low && text.high ? fmt::format("95 % CI {} to {} over {} launches", *text.low,
                                             *text.high, ratio.replicates)
                               : "no confidence interval";
}

/// Says "bf16", "fp32 zero2": what the step of a training is called by.
std::string training_name(const Case& definition) {
  constexpr std::string_view kStep = "GPT-2 step ";
  return answer_label(definition).substr(kStep.size());
}

/// Says "all-reduce", or the label of what has more to it: "all_reduce bf16".
std::string spoken_curve(const RunSummary& summary, const Case& definition) {
  Case form = definition;
  form.launch = LaunchMode::stream;
  const bool has_other_launch = std::ranges::any_of(summary.cases, [&](const CaseSummary& each) {
    Case own = each.definition();
    if (own.launch == definition.launch) return false;
    own.launch = definition.launch;
    return own == definition;
  });
  if (has_other_launch) form.launch = definition.launch;
  if (form.pair && !form.pair->both && form.ranks == 2) form.pair.reset();
  const bool plain = curve_label(form) == name_of(definition.operation);
  return plain ? spoken_operation(definition) : curve_label(definition);
}

/// Says "all-reduce of 1 GiB", "all_reduce bf16 1 GiB", "the latency of 8 B", "the GPT-2 step in
/// bf16".
std::string spoken_case(const RunSummary& summary, const Case& definition) {
  if (is_training(definition.operation)) return "the GPT-2 step in " + training_name(definition);
  const std::string size = readable_bytes(definition.size);
  if (is_latency(definition.operation)) return "the latency of " + size;
  const std::string curve = spoken_curve(summary, definition);
  return curve == spoken_operation(definition) ? fmt::format("{} of {}", curve, size)
                                               : answer_label(definition);
}

std::string in_words(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return parts.empty() ? "" : parts.front();
  return fmt::format("{} and {}", fmt::join(parts.begin(), parts.end() - 1, ", "), parts.back());
}

/// Lists trainings that are shown to be faster, the spoken one left out, the most first: "1.40x in
/// tf32 and 1.09x in fp32"; of many the ends: "1.08x to 2.32x in 8 others".
std::string other_trainings(const RunSummary& summary, const AnswerRow& spoken,
                            std::string_view many) {
  std::vector<std::pair<double, std::string>> faster;
  std::vector<const Estimate*> ratios;
  for (const CaseSummary* each : summary.trainings) {
    const Comparison* const own = AnswerRow{each, spoken.other}.comparison();
    if (each == spoken.of || own == nullptr || own->verdict != Verdict::faster) continue;
    ratios.push_back(own->ratio);
    faster.emplace_back(own->ratio->value,
                        fmt::format("{} in {}", readable_ratio(*own->ratio).estimate,
                                    training_name(each->definition())));
  }
  constexpr std::size_t kMostNamed = 3;
  if (faster.size() > kMostNamed) {
    const auto [least, most] = std::ranges::minmax(ratios, {}, &Estimate::value);
    return fmt::format("{} to {} in {} {}", readable_ratio(*least).estimate,
                       readable_ratio(*most).estimate, faster.size(), many);
  }
  std::ranges::stable_sort(faster, std::ranges::greater{}, &std::pair<double, std::string>::first);
  std::vector<std::string> parts;
  for (const auto& [ratio, text] : faster) parts.push_back(text);
  return in_words(parts);
}

/// Says what a training gains beside what is spoken of: ", 1.40x in tf32 and 1.09x in fp32"; behind
/// another operation ", the GPT-2 step 1.07x in fp32".
std::string trainings_text(const RunSummary& summary, const AnswerRow& spoken) {
  const bool of_training = is_training(spoken.of->definition().operation);
  const std::string others = other_trainings(summary, spoken, of_training ? "others" : "trainings");
  if (others.empty()) return {};
  return fmt::format(", {}{}", of_training ? "" : "the GPT-2 step ", others);
}

/// Says "the latency of 8 B 57 % lower (784.00 ns against 1.82 us; 2.32x, 95 % CI …)".
std::string latency_change(const RunSummary& summary, const AnswerRow& row, double change,
                           const std::string& values) {
  const Estimate& ratio = *row.comparison()->ratio;
  const RatioText text = readable_ratio(ratio);
  return fmt::format("{} {} {} ({}; {}, {})", spoken_case(summary, row.of->definition()),
                     readable_percent(std::abs(change), change < 0.0 ? Whole::yes : Whole::no),
                     change < 0.0 ? "lower" : "higher", values, text.estimate,
                     interval_text(text, ratio));
}

/// Says "NVLink makes all-reduce of 1 GiB 12.6x as fast (324.3 against 25.7 GB/s; 95 % CI 12.4x to
/// 12.9x over 6 launches)."
std::string change_by_path(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const std::string_view subject = words_of(row.of->contrast).title;
  const std::string values = values_text(definition, *comparison.first, *comparison.other);
  if (is_latency(definition.operation)) {
    const double change = 1.0 / comparison.ratio->value - 1.0;
    return fmt::format("{} makes {}{}.", subject, latency_change(summary, row, change, values),
                       trainings_text(summary, row));
  }
  const SpokenRatio spoken = spoken_ratio(*comparison.ratio);
  const bool is_faster = comparison.ratio->value >= 1.0;
  const bool of_training = is_training(definition.operation);
  return fmt::format("{} makes {} {}{}{} ({}; {}){}.", subject,
                     of_training ? "the GPT-2 step" : spoken_case(summary, definition),
                     is_faster ? "" : "take ", spoken.words,
                     of_training ? " in " + training_name(definition) : "", values,
                     interval_text(spoken.text, *comparison.ratio), trainings_text(summary, row));
}

/// Names two variants, "NCCL 2.32.3" and "2.28.3" where these are what differs.
std::pair<std::string, std::string> names_of(const RunSummary& summary, const AnswerRow& row) {
  const Settings& settings = summary.record.settings;
  const auto version_of = [&](std::size_t variant) {
    const auto& all = settings.software_in_force;
    const std::optional<std::string> version =
        variant < all.size() ? all[variant].nccl_library : std::nullopt;
    return version.value_or("").substr(0, version.value_or("").find('+'));
  };
  const std::string own = version_of(row.other);
  const std::string first = version_of(0);
  if (nccl_differs(settings) && !own.empty() && !first.empty() && own != first) {
    return {"NCCL " + own, first};
  }
  const Comparison& comparison = *row.comparison();
  return {comparison.other->variant, comparison.first->variant};
}

constexpr double kAlike = 0.05;  ///< what nobody asks about beside a larger change

/// Tells whether the variant changed this case in the same direction as the one that is spoken of,
/// by more than kAlike or as much.
bool changes_with(const AnswerRow& row, const Comparison& spoken) {
  const Comparison* const own = row.comparison();
  if (own == nullptr || own->verdict != spoken.verdict) return false;
  const double least = std::min(std::log1p(kAlike), std::abs(std::log(spoken.ratio->value)));
  return std::abs(std::log(own->ratio->value)) >= least;
}

/// Finds the sizes around the row's that changed with it.
std::pair<Bytes, Bytes> sizes_around(const RunSummary& summary, const AnswerRow& row) {
  const Bytes size = row.of->definition().size;
  for (const Curve* curve : summary.curves()) {
    const std::vector<const CaseSummary*>& cases = curve->cases;
    const auto own = std::ranges::find(cases, row.of);
    if (own == cases.end()) continue;
    const auto changes = [&](const CaseSummary* each) {
      return changes_with({each, row.other}, *row.comparison());
    };
    auto first = own;
    auto last = own;
    while (first != cases.begin() && changes(*(first - 1))) --first;
    while (last + 1 != cases.end() && changes(*(last + 1))) ++last;
    return {(*first)->definition().size, (*last)->definition().size};
  }
  return {size, size};
}

/// Says "; all-gather and reduce-scatter are within 5 %": of operations whose every ratio beside
/// this variant is.
std::string unchanged_text(const RunSummary& summary, const AnswerRow& spoken) {
  std::vector<std::string> alike;
  std::vector<OperationKind> changed{spoken.of->definition().operation};
  std::vector<OperationKind> seen;
  for (const CaseSummary& each : summary.cases) {
    const OperationKind operation = each.definition().operation;
    if (each.definition().kernel || is_training(operation)) continue;
    const Comparison* const own = AnswerRow{&each, spoken.other}.comparison();
    const bool is_alike = own != nullptr && own->has_speed_up() &&
                          std::abs(std::log(own->ratio->value)) <= std::log1p(kAlike);
    std::vector<OperationKind>& known = is_alike ? seen : changed;
    if (std::ranges::count(known, operation) == 0) known.push_back(operation);
  }
  for (const OperationKind operation : seen) {
    if (std::ranges::count(changed, operation) > 0) continue;
    Case plain;
    plain.operation = operation;
    alike.push_back(spoken_operation(plain));
  }
  if (alike.empty()) return {};
  return fmt::format("; {} {} within 5 %", in_words(alike), alike.size() == 1 ? "is" : "are");
}

/// Says "NCCL 2.32.3 is slower than 2.28.3 in send-recv of 16 KiB to 512 KiB, at most 1.69x at 64
/// KiB (12.90 against 7.60 us; 95 % CI 1.68x to 1.70x over 6 launches); all-gather is within 5 %."
std::string change_by_setting(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const auto [own, first] = names_of(summary, row);
  const std::string values = values_text(definition, *comparison.other, *comparison.first);
  if (is_latency(definition.operation)) {
    const double change = comparison.ratio->value - 1.0;
    return fmt::format("{} makes {} beside {}{}.", own,
                       latency_change(summary, row, change, values), first,
                       unchanged_text(summary, row));
  }
  const bool is_faster = comparison.verdict == Verdict::slower;
  const SpokenRatio spoken = spoken_ratio(*comparison.ratio);
  const std::string number = spoken.text.estimate;
  const auto [least, most] = sizes_around(summary, row);
  const std::string size = readable_bytes(definition.size);
  const std::string where =
      least == most
          ? fmt::format("{}: {} as {}", spoken_case(summary, definition), number,
                        is_faster ? "fast" : "long")
          : fmt::format("{} of {} to {}, at most {} at {}", spoken_curve(summary, definition),
                        readable_bytes(least), readable_bytes(most), number, size);
  return fmt::format("{} is {} than {} in {} ({}; {}){}.", own, is_faster ? "faster" : "slower",
                     first, where, values, interval_text(spoken.text, *comparison.ratio),
                     unchanged_text(summary, row));
}

/// Says that nothing is shown, and what would show it.
std::string inconclusive_sentence(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const RatioText text = readable_ratio(*comparison.ratio);
  const std::string what =
      row.of->contrast == Contrast::variant
          ? fmt::format("{}, {} against {}", spoken_case(summary, row.of->definition()),
                        comparison.first->variant, comparison.other->variant)
          : spoken_case(summary, row.of->definition());
  return fmt::format("Inconclusive: {} ({}) for {}. Use more launches.", text.estimate,
                     text.low ? fmt::format("{} to {}", *text.low, *text.high) : "one launch",
                     what);
}

std::string same_sentence(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const RatioText text = readable_ratio(*comparison.ratio);
  const std::string figures = fmt::format(
      "{} ({}; {})", text.estimate, values_text(definition, *comparison.first, *comparison.other),
      interval_text(text, *comparison.ratio));
  const std::string what = spoken_case(summary, definition);
  if (row.of->contrast != Contrast::variant) {
    return fmt::format("{} makes no significant difference to {}: {}.",
                       words_of(row.of->contrast).title, what, figures);
  }
  const auto [own, first] = names_of(summary, row);
  return fmt::format("{} makes no significant difference to {} beside {}: {}.", own, what, first,
                     figures);
}

/// Says what one variant came to beside the first.
std::string sentence_of(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  switch (comparison.verdict) {
    case Verdict::inconclusive:
      return inconclusive_sentence(summary, row);
    case Verdict::same:
      return same_sentence(summary, row);
    case Verdict::faster:
    case Verdict::slower:
      return row.of->contrast == Contrast::variant ? change_by_setting(summary, row)
                                                   : change_by_path(summary, row);
    case Verdict::same_path:
      return fmt::format("{} and {} took the same path, {}: this run cannot compare paths.",
                         variant_title(*row.of, 0), variant_title(*row.of, row.other),
                         readable_path(comparison.first->path));
    case Verdict::missing:
    case Verdict::wrong_data:
    case Verdict::other_path:
    case Verdict::unknown_path:
    case Verdict::other_launch:
    case Verdict::not_comparable:
    case Verdict::added:
      break;
  }
  return fmt::format("No conclusion: {} has no right results of both {} and {}.",
                     answer_label(row.of->definition()), comparison.first->variant,
                     comparison.other->variant);
}

/// Says "NCCL takes 4.12 times the time of linkgain's kernel at 8 B, 2.50 times at 1 MiB and 1.10
/// times at 1 GiB: that is the headroom." Leaves out sizes where the kernel is not shown to be
/// faster; empty where that is all.
std::string headroom_sentence(const Answer& answer) {
  std::vector<std::string> parts;
  for (const CaseSummary* each : answer.spoken_headroom) {
    const Estimate& headroom = *each->variants.front().library_ratio;
    if (!headroom.interval || headroom.interval->low <= 1.0) continue;
    const std::string ratio = readable_ratio(headroom).estimate;
    const std::string of_kernel = parts.empty() ? " the time of linkgain's kernel" : "";
    parts.push_back(fmt::format("{} times{} at {}", ratio.substr(0, ratio.find('x')), of_kernel,
                                readable_bytes(each->definition().size)));
  }
  if (parts.empty()) return {};
  const Case& definition = answer.spoken_headroom.front()->definition();
  return fmt::format("{} takes {}: that is the headroom.",
                     is_copy(definition.operation) ? "The copy engine" : "NCCL", in_words(parts));
}

std::string program_sentence(const Answer& answer) {
  if (answer.main() == nullptr) return "No comparison: no run counts.";
  if (answer.comparison() == nullptr) return "No comparison: one variant ran.";
  std::vector<std::string> sentences;
  for (const AnswerRow& each : answer.spoken) {
    sentences.push_back(outcome_sentence(*each.of, *each.comparison()).plain());
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

/// Says what every variant came to, and the headroom.
std::string conclusion(const RunSummary& summary, const Answer& answer) {
  if (summary.is_of_program()) return program_sentence(answer);
  if (summary.soak) return soak_sentence(*summary.soak);
  constexpr std::size_t kMostSentences = 3;
  std::vector<std::string> sentences;
  for (const AnswerRow& each : answer.spoken) {
    if (each.comparison() == nullptr || sentences.size() == kMostSentences) continue;
    sentences.push_back(sentence_of(summary, each));
  }
  if (const std::string headroom = headroom_sentence(answer); !headroom.empty()) {
    sentences.push_back(headroom);
  }
  if (sentences.empty()) return "No conclusion: nothing was measured with two variants.";
  return fmt::format("{}", fmt::join(sentences, " "));
}

/// Says what is wrong in the case, in the first variant with wrong data.
std::string wrong_data(const CaseSummary& each) {
  const auto variant = std::ranges::find_if(
      each.result->variants, [](const VariantResult& one) { return has_wrong_data(one); });
  return fmt::format("{} with {}: {}.", answer_label(each.definition()), variant->variant,
                     describe_wrong(each.definition(), *variant->verification));
}

/// Says who else worked on the GPUs or their links meanwhile: "Disturbed: GPU 0 was 98 % busy …. ".
std::string disturbed_text(const Record& record) {
  const auto found = std::ranges::find_if(record.warnings, [](const Warning& warning) {
    return is(warning, WarningCode::busy_gpu) || is(warning, WarningCode::links_disturbed) ||
           is(warning, WarningCode::exec_neighbours);
  });
  return found == record.warnings.end() ? "" : fmt::format("Disturbed: {}. ", found->text);
}

}  // namespace

std::string answer_alarm(const RunSummary& summary) {
  const auto wrong = std::ranges::count_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong > 0) {
    return fmt::format("WRONG DATA in {} of {}", wrong,
                       counted(std::ssize(summary.cases), "case", "cases"));
  }
  return has_warning(summary.record, ExitCode::wrong_path) ? "WRONG PATH" : "";
}

std::string answer_sentence(const RunSummary& summary, const Answer& answer) {
  const std::string alarm = answer_alarm(summary);
  const auto wrong = std::ranges::find_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong != summary.cases.end()) return fmt::format("{}. {}", alarm, wrong_data(*wrong));
  const std::string bound = nvlink_bound_sentence(summary);
  return (alarm.empty() ? "" : alarm + ", see the warning. ") + disturbed_text(summary.record) +
         conclusion(summary, answer) + (bound.empty() ? "" : " " + bound);
}

}  // namespace linkgain
