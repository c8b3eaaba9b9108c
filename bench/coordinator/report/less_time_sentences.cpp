#include "less_time_sentences.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

/// "With P2P the same all-reduce", and against what where that does not go without saying.
struct Sentence {
  std::string subject;
  std::string than;
};

Sentence sentence_of(const CaseSummary& each, const Comparison& comparison) {
  const bool named = each.contrast == Contrast::variant;
  const bool training = is_training(each.definition().operation);
  std::string_view with =
      named ? std::string_view(comparison.first->variant) : words_of(each.contrast).subject;
  if (training && each.contrast == Contrast::nvlink)
    with = words_of(each.contrast).title;  // as the guide has it
  return {fmt::format("With {} the {}{}", with, training ? "" : "same ",
                      spoken_operation(each.definition())),
          named ? fmt::format(" than with {}", comparison.other->variant) : std::string{}};
}

std::string interval_of(const Estimate& ratio) {
  if (!ratio.interval) return readable_ratio(ratio).estimate + ", no confidence interval";
  return fmt::format("{} over {} launches", readable_ratio(ratio).with_interval(),
                     ratio.replicates);
}

Text wrong_data_sentence(const CaseSummary& each, const Comparison& comparison) {
  Text sentence;
  for (const VariantResult* variant : {comparison.first, comparison.other}) {
    if (!has_wrong_data(*variant)) {
      continue;
    }
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

/// "with a and with b", "with P2P and without"
std::string sides_of(const CaseSummary& each, const Comparison& comparison) {
  return each.contrast == Contrast::variant
             ? fmt::format("with {} and with {}", comparison.first->variant,
                           comparison.other->variant)
             : fmt::format("with {} and without", words_of(each.contrast).subject);
}

/// A half width above `precision`, with as many digits as it takes to see that.
std::string wider_percent(double half_width, double precision) {
  std::string text = readable_percent(half_width);
  const std::string asked_for = readable_percent(precision);
  for (int digits = 3; text == asked_for && digits <= 6; ++digits) {
    text = percent_of_digits(half_width, digits);
  }
  return text;
}

/// "±5.1 % of the ratio"; as a factor where a share would not be as much either way.
std::string half_width_text(double half_width, double precision) {
  constexpr double kMostShare = 0.2;
  if (half_width <= kMostShare) {
    return fmt::format("±{} of the ratio", wider_percent(half_width, precision));
  }
  const double factor = std::exp(half_width);
  if (factor > 1000.0) return "a factor of more than 1000 either way";
  return fmt::format("a factor of {:.{}f} either way", factor, factor < 9.95 ? 1 : 0);
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

Text outcome_sentence(const CaseSummary& each, const Comparison& comparison) {
  const Sentence words = sentence_of(each, comparison);
  const std::string what = spoken_operation(each.definition());
  switch (comparison.verdict) {
    case Verdict::wrong_data:
      return wrong_data_sentence(each, comparison);
    case Verdict::missing:
    case Verdict::not_comparable:
      return not_measured_sentence(comparison);
    case Verdict::same_path:
      return same_path_sentence(each, comparison);
    case Verdict::inconclusive:
      return fmt::format(
          "Inconclusive: whether the same {} differs {} takes more launches to tell ({}).", what,
          sides_of(each, comparison), interval_of(*comparison.ratio));
    case Verdict::same:
      return fmt::format("No difference was found between the same {} {} ({}).", what,
                         sides_of(each, comparison), interval_of(*comparison.ratio));
    case Verdict::faster:
      return fmt::format("{} takes {} less time{} ({}).", words.subject,
                         readable_percent(less_time(comparison.ratio->value)), words.than,
                         interval_of(*comparison.ratio));
    case Verdict::slower:
      return fmt::format("{} is {} slower{} ({}).", words.subject,
                         readable_percent(-less_time(comparison.ratio->value), Whole::no),
                         words.than, interval_of(*comparison.ratio));
    case Verdict::other_path:
    case Verdict::unknown_path:
    case Verdict::other_launch:
    case Verdict::added:
      return {};  // not of variants of one run
  }
  return {};
}

Text wrong_data_mark() { return Text::Run{"WRONG DATA", Text::Form::strong, Tone::bad}; }

std::string precision_text(const Settings& settings) {
  if (settings.precision)
    return fmt::format("±{} of the ratio", percent_of_digits(*settings.precision));
  if (settings.program) return "±2 % of the ratio";
  return "±1 % of the ratio from 16 MiB on and of trainings, ±2 % from 1 MiB on, ±5 % below";
}

std::string convergence_sentence(const RunSummary& summary, const CaseSummary& each,
                                 const Comparison& comparison) {
  if (!comparison.has_speed_up() || !comparison.has_interval() || each.result->converged) {
    return {};
  }
  const double precision = precision_of(summary.record.settings, each.definition());
  const double half_width = relative_half_width(*comparison.ratio).value_or(0.0);
  if (half_width <= precision) return {};
  const std::optional<StopReason>& stopped = each.result->stopped;
  const std::string why = stopped ? fmt::format(" ({})", name_of(*stopped)) : "";
  return fmt::format(" Not converged{}: the interval is {}, ±{} was asked for.", why,
                     half_width_text(half_width, precision), percent_of_digits(precision));
}

}  // namespace linkgain
