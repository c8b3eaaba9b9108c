#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/predict/prediction_report.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tuning/tuning_report.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Shows bandwidth of what is large enough for one, else time; there is one.
std::string answer_value(const Case& definition, const VariantResult& variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  const bool large = definition.size.value >= kLeastForBandwidth;
  const bool by_time = is_training(definition.operation) || is_latency(definition.operation);
  if (!variant.busbw || !large || by_time) return readable_time(*variant.time);
  const bool both = definition.pair && definition.pair->both;
  return readable_bandwidth(*variant.busbw) + (both ? " each way" : "");
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
  const std::string interval = interval_text(text);
  return text.low && text.high ? fmt::format("{} over {} launches", interval, ratio.replicates)
                               : interval;
}

/// Says "all-reduce of 1 GiB (bfloat16)", "a message of 8 B", "the GPT-2 step in bf16".
std::string spoken_case(const RunSummary& summary, const Case& definition) {
  if (is_training(definition.operation)) return linkgain::spoken_case(definition);
  if (is_latency(definition.operation)) {
    const bool is_load = definition.operation == OperationKind::load_latency;
    return (is_load ? "a load from " : "a message of ") + readable_bytes(definition.size);
  }
  return spoken_case_of(summary, definition);
}

bool has_one_size(const std::vector<SizeRange>& ranges) {
  return ranges.size() == 1 && ranges.front().size() == 1;
}

std::string in_words(const std::vector<std::string>& parts) {
  return listed(std::vector<std::string_view>(parts.begin(), parts.end()));
}

/// Lists trainings with this verdict, the spoken one left out, the largest change first: "1.40x as
/// fast in tf32 and 1.09x in fp32"; of many the ends: "1.08x to 2.32x as fast in 8 others".
std::string other_trainings(const RunSummary& summary, const AnswerRow& spoken, Verdict verdict,
                            bool with_words, std::string_view many) {
  std::vector<std::pair<double, const CaseSummary*>> changed;
  const auto ratio_of = [&](const CaseSummary* each, bool has_words = false) {
    const SpokenRatio ratio = spoken_ratio(*AnswerRow{each, spoken.other}.comparison()->ratio);
    return has_words ? ratio.words : ratio.text.estimate;
  };
  for (const CaseSummary* each : summary.trainings) {
    const Comparison* const own = AnswerRow{each, spoken.other}.comparison();
    if (each == spoken.of || own == nullptr || own->verdict != verdict) continue;
    changed.emplace_back(change_of({each, spoken.other}), each);
  }
  if (changed.empty()) return {};
  std::ranges::stable_sort(changed, std::ranges::greater{},
                           &std::pair<double, const CaseSummary*>::first);
  constexpr std::size_t kMostNamed = 3;
  if (changed.size() > kMostNamed) {
    return fmt::format("{} to {} in {} {}", ratio_of(changed.back().second),
                       ratio_of(changed.front().second, with_words), changed.size(), many);
  }
  std::vector<std::string> parts;
  for (const auto& [change, each] : changed) {
    parts.push_back(fmt::format("{} in {}", ratio_of(each, with_words && parts.empty()),
                                training_label(each->definition())));
  }
  return in_words(parts);
}

/// Says what trainings gain beside what is spoken of: ", 1.40x in tf32 and 1.09x in fp32"; behind
/// anything but a training that gains "; the GPT-2 step is 1.07x as fast in fp32". Says which are
/// slower, too.
std::string trainings_text(const RunSummary& summary, const AnswerRow& row) {
  const bool of_training = is_training(row.of->definition().operation);
  const bool goes_on = of_training && row.comparison()->verdict == Verdict::faster;
  const std::string_view many = of_training ? "others" : "trainings";
  const std::string faster = other_trainings(summary, row, Verdict::faster, !goes_on, many);
  const std::string slower = other_trainings(summary, row, Verdict::slower, true, many);
  std::string text;
  if (!faster.empty()) text = (goes_on ? ", " : "; the GPT-2 step is ") + faster;
  if (!slower.empty()) text += "; the GPT-2 step takes " + slower;
  return text;
}

/// Says "send-recv of 64 KiB (graph)", "send-recv (graph) of 16 KiB to 512 KiB".
std::string place_text(const RunSummary& summary, const AnswerRow& row,
                       const std::vector<SizeRange>& ranges) {
  const Case& definition = row.of->definition();
  return has_one_size(ranges) ? spoken_case(summary, definition)
                              : fmt::format("{} of {}", spoken_curve_of(summary, definition),
                                            ranges_text(ranges, "of"));
}

/// Says "takes 1.57x as long (95 % CI 1.55x to 1.59x)", "is up to 1.30x as fast, at 8 B (…)" of the
/// row's sizes.
std::string ratio_text(const AnswerRow& row, const std::vector<SizeRange>& ranges) {
  const bool is_faster = (row.comparison()->verdict == Verdict::faster) != is_of_setting(row);
  const Estimate& ratio = *row.comparison()->ratio;
  const SpokenRatio spoken = spoken_ratio(is_of_setting(row) ? inverse_of(ratio) : ratio);
  const std::string_view verb = is_faster ? "is" : "takes";
  const std::string interval = interval_text(spoken.text);
  if (has_one_size(ranges)) return fmt::format("{} {} ({})", verb, spoken.words, interval);
  return fmt::format("{} up to {}, at {} ({})", verb, spoken.words,
                     readable_bytes(row.of->definition().size), interval);
}

/// Says "at 8 B it takes 1.12x as long", "at 8 B to 1 KiB it is up to 1.30x as fast, at 8 B" of the
/// row's sizes.
std::string sizes_text(const RunSummary& summary, const AnswerRow& row) {
  const std::vector<SizeRange> ranges = ranges_like(summary, row);
  return fmt::format("at {} it {}", ranges_text(ranges, "at"), ratio_text(row, ranges));
}

/// Says where it is the contrary: "; at 8 B it takes 1.12x as long"; of another operation that
/// changes more "; in all-reduce of 32 KiB it takes 1.57x as long", of a path "; all-reduce of 32
/// KiB takes 1.57x as long". Empty where all go one way.
std::string contrary_text(const RunSummary& summary, const AnswerSentence& spoken) {
  std::string text;
  if (spoken.contrary.of != nullptr) text = "; " + sizes_text(summary, spoken.contrary);
  const AnswerRow& elsewhere = spoken.contrary_elsewhere;
  if (elsewhere.of == nullptr) return text;
  const std::vector<SizeRange> ranges = ranges_like(summary, elsewhere);
  const std::string place = place_text(summary, elsewhere, ranges);
  return fmt::format("{}{} {} {}", text, text.empty() ? ";" : ", and",
                     is_of_setting(elsewhere) ? fmt::format("in {} it", place) : place,
                     ratio_text(elsewhere, ranges));
}

/// Says "NVLink makes all-reduce of 1 GiB 12.6x as fast (324.3 against 25.7 GB/s; 95 % CI 12.4x to
/// 12.9x over 6 launches)."; beside other variants "324.3 against 25.7 GB/s with host".
std::string change_by_path(const RunSummary& summary, const AnswerSentence& said) {
  const AnswerRow& row = said.rows.front();
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const std::string_view subject = words_of(comparison.contrast).title;
  const std::string values =
      values_text(definition, *comparison.first, *comparison.other) +
      (row.of->comparisons.size() == 1 ? "" : " with " + comparison.other->variant);
  const SpokenRatio spoken = spoken_ratio(*comparison.ratio);
  const bool is_faster = comparison.ratio->value >= 1.0;
  const bool of_training = is_training(definition.operation);
  return fmt::format("{} makes {} {}{}{} ({}; {}){}{}.", subject,
                     of_training ? "the GPT-2 step" : spoken_case(summary, definition),
                     is_faster ? "" : "take ", spoken.words,
                     of_training ? " in " + training_label(definition) : "", values,
                     interval_text(spoken.text, *comparison.ratio), contrary_text(summary, said),
                     trainings_text(summary, row));
}

/// Names two variants, "NCCL 2.32.3 (new)" and "2.28.3 (p2p)" where these are all that differs, and
/// name no other variant; where more differs "v32-ll (NCCL 2.32.3)" and "v28 (NCCL 2.28.3)". Tables
/// and pictures have the variants' names.
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
  const bool differ = nccl_differs(settings) && !own.empty() && !first.empty() && own != first;
  const auto is_named = [&](std::size_t variant) {
    Variant each = settings.variants[variant];
    Variant reference = settings.variants.front();
    each.environment.erase("LINKGAIN_NCCL");  // says which NCCL
    reference.environment.erase("LINKGAIN_NCCL");
    return each.environment == reference.environment && each.unset == reference.unset &&
           each.arguments == reference.arguments && each.worker == reference.worker;
  };
  const auto has_own = [&](std::size_t variant) { return version_of(variant) == own; };
  const auto places = std::views::iota(std::size_t{1}, settings.variants.size());
  const Comparison& comparison = *row.comparison();
  if (differ && is_named(row.other) && std::ranges::count_if(places, has_own) == 1) {
    return {fmt::format("NCCL {} ({})", own, comparison.other->variant),
            fmt::format("{} ({})", first, comparison.first->variant)};
  }
  if (!differ) return {comparison.other->variant, comparison.first->variant};
  return {fmt::format("{} (NCCL {})", comparison.other->variant, own),
          fmt::format("{} (NCCL {})", comparison.first->variant, first)};
}

constexpr double kAlike = 0.05;

/// Says "; all-gather and reduce-scatter are within 5 %": of operations whose every interval beside
/// this variant is.
std::string unchanged_text(const RunSummary& summary, const AnswerRow& spoken) {
  std::vector<std::string> alike;
  std::vector<OperationKind> changed{spoken.of->definition().operation};
  for (const Curve* curve : curves_beside(summary, spoken)) {
    for (const Verdict verdict : {Verdict::faster, Verdict::slower}) {
      const CaseSummary* const most = most_changed(*curve, spoken.other, verdict).of;
      if (most != nullptr) changed.push_back(most->definition().operation);
    }
  }
  std::vector<OperationKind> seen;
  for (const CaseSummary& each : summary.cases) {
    const OperationKind operation = each.definition().operation;
    if (each.definition().kernel || is_training(operation)) continue;
    const Comparison* const own = AnswerRow{&each, spoken.other}.comparison();
    const bool is_alike = own != nullptr && own->has_speed_up() && own->has_interval() &&
                          own->ratio->interval->low >= 1.0 / (1.0 + kAlike) &&
                          own->ratio->interval->high <= 1.0 + kAlike;
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

/// Says in how many other curves all of these variants changed as they did in the spoken one: "; it
/// is slower in 6 of 7 other operations and launch modes, too, most in all-gather (stream) of 16
/// KiB to 64 KiB: up to 1.47x at 16 KiB (95 % CI 1.34x to 1.62x)"; "6 of 7 others" where a sentence
/// before says which. Says of which sizes there the contrary holds, ", but at 8 B it takes 1.12x as
/// long". Empty where in none.
std::string elsewhere_text(const RunSummary& summary, const AnswerSentence& spoken,
                           bool is_known_which) {
  const AnswerRow& most = spoken.most_alike;
  if (most.of == nullptr) return {};
  const bool is_one = spoken.rows.size() == 1;
  const std::string who = is_one ? "" : fmt::format("with {} ", most.comparison()->other->variant);
  const std::vector<SizeRange> ranges = ranges_like(summary, most);
  const std::string what = fmt::format("{}in {}", who, place_text(summary, most, ranges));
  const RatioText text = spoken_ratio(inverse_of(*most.comparison()->ratio)).text;
  const std::string up_to = has_one_size(ranges)
                                ? text.estimate
                                : fmt::format("up to {} at {}", text.estimate,
                                              readable_bytes(most.of->definition().size));
  const std::string ratio = fmt::format("{} ({})", up_to, interval_text(text));
  const std::string is =
      fmt::format("; {} {}", is_one ? "it is" : "they are",
                  most.comparison()->verdict == Verdict::slower ? "faster" : "slower");
  const AnswerRow& contrary = spoken.alike_contrary;
  const std::string but = contrary.of == nullptr ? "" : ", but " + sizes_text(summary, contrary);
  if (spoken.alike_curves == 1) return fmt::format("{} {}, too: {}{}", is, what, ratio, but);
  const AnswerRow& row = spoken.rows.front();
  return fmt::format(
      "{} in {} of {} {}, too, most {}: {}{}", is, spoken.alike_curves,
      curves_beside(summary, row).size(),
      is_known_which ? "others" : fmt::format("other {}", word_for_curves(summary, row)), what,
      ratio, but);
}

/// Says "send-recv of 16 KiB to 512 KiB, at most 1.69x at 64 KiB".
std::string setting_place(const RunSummary& summary, const AnswerRow& row) {
  const std::vector<SizeRange> ranges = ranges_like(summary, row);
  const SpokenRatio spoken = spoken_ratio(inverse_of(*row.comparison()->ratio));
  const std::string place = place_text(summary, row, ranges);
  if (has_one_size(ranges)) return fmt::format("{}: {}", place, spoken.words);
  return fmt::format("{}, at most {} at {}", place, spoken.text.estimate,
                     readable_bytes(row.of->definition().size));
}

/// Says "NCCL 2.32.3 (new) is slower than 2.28.3 (p2p) in send-recv of 16 KiB to 512 KiB, at
/// most 1.69x at 64 KiB (12.90 against 7.60 us; 95 % CI 1.68x to 1.70x over 6 launches); all-gather
/// is within 5 %." of a sentence's variants; the figures are the first one's.
std::string change_by_setting(const RunSummary& summary, const AnswerSentence& said,
                              bool is_known_which) {
  const AnswerRow& row = said.rows.front();
  const Comparison& comparison = *row.comparison();
  std::vector<AnswerRow> in_order = said.rows;
  std::ranges::sort(in_order, {}, &AnswerRow::other);
  std::vector<std::string> names;
  for (const AnswerRow& each : in_order) names.push_back(names_of(summary, each).first);
  const RatioText text = spoken_ratio(inverse_of(*comparison.ratio)).text;
  return fmt::format(
      "{} {} {} than {} in {} ({}{}; {}){}{}{}.", in_words(names), names.size() == 1 ? "is" : "are",
      comparison.verdict == Verdict::slower ? "faster" : "slower",
      is_known_which ? comparison.first->variant : names_of(summary, row).second,
      setting_place(summary, row), names.size() == 1 ? "" : comparison.other->variant + ": ",
      values_text(row.of->definition(), *comparison.other, *comparison.first),
      interval_text(text, *comparison.ratio), contrary_text(summary, said),
      elsewhere_text(summary, said, is_known_which), unchanged_text(summary, row));
}

/// Tells whether one launch is why nothing is shown.
bool lacks_launches(const Comparison& comparison) {
  return comparison.verdict == Verdict::inconclusive && comparison.ratio->replicates < 2;
}

/// Says "1.15x for the GPT-2 step in fp32 to 3.14x for the GPT-2 step in bf16" of the rows of a
/// variant that one launch measured, however many of them are shown.
std::string range_text(const RunSummary& summary, const AnswerRow& row) {
  std::vector<AnswerRow> rows{row};
  for (const AnswerRow& each : answer_of(summary).rows) {
    const Comparison* const own = each.comparison();
    if (each.other == row.other && own != nullptr && own->has_speed_up() &&
        !each.of->definition().kernel) {
      rows.push_back(each);
    }
  }
  const auto [least, most] = std::ranges::minmax(
      rows, {}, [](const AnswerRow& each) { return each.comparison()->ratio->value; });
  const auto text_of = [&](const AnswerRow& each) {
    return fmt::format("{} for {}", readable_ratio(*each.comparison()->ratio).estimate,
                       spoken_case(summary, each.of->definition()));
  };
  return least == most ? text_of(least) : fmt::format("{} to {}", text_of(least), text_of(most));
}

/// Says that nothing is shown, and what would show it.
std::string inconclusive_sentence(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const std::string against =
      row.of->contrast == Contrast::variant
          ? fmt::format(", {} against {}", comparison.first->variant, comparison.other->variant)
          : "";
  if (lacks_launches(comparison)) {
    return fmt::format("Inconclusive: {}{}.", range_text(summary, row), against);
  }
  const RatioText text = readable_ratio(*comparison.ratio);
  return fmt::format("Inconclusive: {} ({}) for {}{}. {}", text.estimate,
                     text.low ? fmt::format("{} to {}", *text.low, *text.high) : "no interval",
                     spoken_case(summary, row.of->definition()), against, remedy_sentence(*row.of));
}

std::string same_sentence(const RunSummary& summary, const AnswerRow& row) {
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const std::string what = spoken_case(summary, definition);
  const auto figures = [&](const Estimate& ratio, const VariantResult& own,
                           const VariantResult& other) {
    const RatioText text = readable_ratio(ratio);
    return fmt::format("{} ({}; {})", text.estimate, values_text(definition, own, other),
                       interval_text(text, ratio));
  };
  if (row.of->contrast != Contrast::variant) {
    return fmt::format("{} makes no significant difference to {}: {}.",
                       words_of(row.of->contrast).title, what,
                       figures(*comparison.ratio, *comparison.first, *comparison.other));
  }
  const auto [own, first] = names_of(summary, row);
  return fmt::format("{} makes no significant difference to {} beside {}: {}.", own, what, first,
                     figures(inverse_of(*comparison.ratio), *comparison.other, *comparison.first));
}

/// Says what one variant came to beside the first, or several that changed the same.
std::string sentence_of(const RunSummary& summary, const AnswerSentence& said,
                        bool is_known_which) {
  const AnswerRow& row = said.rows.front();
  const Comparison& comparison = *row.comparison();
  switch (comparison.verdict) {
    case Verdict::inconclusive:
      return inconclusive_sentence(summary, row);
    case Verdict::same:
      return same_sentence(summary, row);
    case Verdict::faster:
    case Verdict::slower:
      return is_of_setting(row) ? change_by_setting(summary, said, is_known_which)
                                : change_by_path(summary, said);
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
                     spoken_case(summary, row.of->definition()), comparison.first->variant,
                     comparison.other->variant);
}

/// Says of the variants that no sentence is about what changed most: "v28-ll is slower in send-recv
/// of 16 KiB to 512 KiB, at most 1.67x at 64 KiB (95 % CI 1.66x to 1.68x); net makes no significant
/// difference." Empty where there are none.
std::string others_sentence(const RunSummary& summary, const Answer& answer) {
  std::vector<std::string> others;
  for (const AnswerRow& row : answer.spoken) {
    const bool is_said = std::ranges::any_of(answer.sentences, [&](const AnswerSentence& each) {
      return std::ranges::count(each.rows, row.other, &AnswerRow::other) > 0;
    });
    if (is_said || row.comparison() == nullptr) continue;
    const Verdict verdict = row.comparison()->verdict;
    const std::string& name = names_of(summary, row).first;
    if (is_change(verdict)) {
      const RatioText text = spoken_ratio(inverse_of(*row.comparison()->ratio)).text;
      others.push_back(fmt::format("{} is {} in {} ({})", name,
                                   verdict == Verdict::slower ? "faster" : "slower",
                                   setting_place(summary, row), interval_text(text)));
    } else {
      others.push_back(fmt::format("{} {}", name,
                                   verdict == Verdict::same ? "makes no significant difference"
                                   : verdict == Verdict::inconclusive ? "is inconclusive"
                                                                      : "cannot be compared"));
    }
  }
  return others.empty() ? "" : fmt::format("{}.", fmt::join(others, "; "));
}

/// Says what every variant came to, and the headroom: first where that was asked for.
std::vector<std::string> conclusions(const RunSummary& summary, const Answer& answer) {
  if (summary.is_of_program()) return program_sentences(summary, answer);
  if (summary.soak) return {soak_sentence(*summary.soak)};
  if (summary.tuning) return tuning_sentences(summary);
  std::vector<std::string> sentences = headroom_sentences(summary, answer);
  const std::ptrdiff_t of_headroom = std::ssize(sentences);
  bool is_known_which = false;  // what the other curves are
  for (const AnswerSentence& each : answer.sentences) {
    sentences.push_back(sentence_of(summary, each, is_known_which));
    is_known_which = is_known_which || each.alike_curves > 1;
  }
  sentences.push_back(others_sentence(summary, answer));
  const auto alone = std::ranges::find_if(answer.spoken, [](const AnswerRow& each) {
    return each.comparison() != nullptr && lacks_launches(*each.comparison());
  });
  if (alone != answer.spoken.end()) {
    sentences.push_back("One launch gives no interval. " + remedy_sentence(*alone->of));
  }
  if (!answer.begins_with_headroom) {
    std::rotate(sentences.begin(), sentences.begin() + of_headroom, sentences.end());
  }
  std::erase(sentences, "");
  if (sentences.empty() && summary.lacks_samples()) {
    return {"No conclusion: the record has no samples, and times without samples are not judged."};
  }
  if (sentences.empty()) return {"No conclusion: nothing was measured with two variants."};
  return sentences;
}

/// Says what is wrong in the case, in the first variant with wrong data.
std::string wrong_data(const RunSummary& summary, const CaseSummary& each) {
  const auto variant = std::ranges::find_if(
      each.result->variants, [](const VariantResult& one) { return has_wrong_data(one); });
  return fmt::format("{} with {}, {}.", spoken_case(summary, each.definition()), variant->variant,
                     describe_wrong(each.definition(), *variant->verification));
}

/// Says what others were first seen to do on the GPUs: "in a run of host GPU 1 was 50 % busy".
std::string others_text(const Record& record) {
  const auto work_of = [](const Neighbours& neighbours) -> std::string {
    const auto busy = std::ranges::find_if(neighbours.seen, is_busy);
    return busy == neighbours.seen.end() ? "" : work_text(*busy);
  };
  std::string work = record.neighbours ? work_of(*record.neighbours) : "";
  for (auto run = record.runs.begin(); run != record.runs.end() && work.empty(); ++run) {
    const std::string own = work_of(run->evidence.neighbours);
    if (!own.empty()) work = fmt::format("in a run of {} {}", run->variant, own);
  }
  return work.empty() ? "others used the GPUs" : work;
}

/// Says in a clause for each kind of warning who else worked on the machine: "Disturbed: GPU 0 was
/// 98 % busy before anything was started; the host was busy.", of all that disturbs().
std::string disturbed_text(const Record& record) {
  constexpr std::string_view kOthers;
  constexpr std::string_view kBusyHost = "the host was busy";
  static constexpr std::array<std::pair<WarningCode, std::string_view>, 6> kClauses{
      {{WarningCode::oversubscribed, "there were more ranks than processors"},
       {WarningCode::busy_gpu, kOthers},
       {WarningCode::exec_neighbours, kOthers},
       {WarningCode::links_disturbed, "other work used the links"},
       {WarningCode::busy_processors, kBusyHost},
       {WarningCode::host_load, kBusyHost}}};
  std::vector<std::string> clauses;
  for (const auto& [code, clause] : kClauses) {
    if (std::ranges::none_of(record.warnings, [&](const Warning& warning) {
          return is(warning, code) && disturbs(warning);
        })) {
      continue;
    }
    std::string text = clause == kOthers ? others_text(record) : std::string(clause);
    if (clauses.empty() || clauses.back() != text) clauses.push_back(std::move(text));
  }
  return clauses.empty() ? "" : fmt::format("Disturbed: {}.", fmt::join(clauses, "; "));
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

std::vector<std::string> answer_sentences(const RunSummary& summary, const Answer& answer) {
  const std::string alarm = answer_alarm(summary);
  const auto wrong = std::ranges::find_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong != summary.cases.end()) {
    return {fmt::format("{}: {}", alarm, wrong_data(summary, *wrong))};
  }
  std::vector<std::string> sentences = conclusions(summary, answer);
  sentences.insert(sentences.begin(), {alarm.empty() ? "" : alarm + ", see the warning.",
                                       disturbed_text(summary.record)});
  sentences.push_back(nvlink_bound_sentence(summary));
  if (const auto prediction = model_prediction(summary)) {
    sentences.push_back(model_sentence(*prediction));
  }
  std::erase(sentences, "");
  return sentences;
}

std::string answer_sentence(const RunSummary& summary, const Answer& answer) {
  return fmt::format("{}", fmt::join(answer_sentences(summary, answer), " "));
}

}  // namespace linkgain
