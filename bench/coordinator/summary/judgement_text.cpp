#include "linkgain/summary/judgement_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "linkgain/base/units.hpp"

namespace linkgain {

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::missing:
    case Verdict::wrong_data:
    case Verdict::other_path:
    case Verdict::slower:
      return Tone::bad;
    case Verdict::same_path:
    case Verdict::unknown_path:
    case Verdict::other_launch:
    case Verdict::not_comparable:
    case Verdict::inconclusive:
      return Tone::doubtful;
    case Verdict::faster:
      return Tone::good;
    case Verdict::same:
    case Verdict::added:
      return Tone::plain;
  }
  return Tone::plain;
}

std::string reason_text(const Reason& reason) {
  switch (reason.kind) {
    case Reason::Kind::not_measured:
      return "not part of this run";
    case Reason::Kind::not_recorded:
      return "not in " + reason.words;
    case Reason::Kind::not_in_reference:
      return "not in the baseline";
    case Reason::Kind::path_lost:
      return reason.words + " in the baseline, not known now";
    case Reason::Kind::throttled:
      return "GPUs were throttled in " + reason.words;
    case Reason::Kind::few_digits:
      return fmt::format("the program prints too few digits: no shift below {} can be seen",
                         percent_of_digits(reason.amount));
    case Reason::Kind::lost_runs:
      return "runs failed or gave no number";
    case Reason::Kind::few_runs:
      return "too few runs";
    case Reason::Kind::not_asked_for:
      return "does not decide: metrics were named";
    case Reason::Kind::one_of_many:
      return fmt::format(
          "taken alone it is {}, but of {:.0f} cases that are not clearly within the tolerance one "
          "may be so by chance",
          name_of(reason.alone), reason.amount);
    case Reason::Kind::no_time:
    case Reason::Kind::wrong_data:
    case Reason::Kind::other_path:
    case Reason::Kind::other_launch:
    case Reason::Kind::other_backend:
    case Reason::Kind::one_launch:
    case Reason::Kind::agreeing:
    case Reason::Kind::disturbed:
      return reason.words;
  }
  return {};
}

std::string reason_text(const Judgement& judgement) {
  std::vector<std::string> texts;
  for (const Reason& reason : judgement.reasons) texts.push_back(reason_text(reason));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string interval_text(const RatioText& text) {
  return text.low && text.high ? fmt::format("95 % CI {} to {}", *text.low, *text.high)
                               : "no confidence interval";
}

std::string precision_text(const Settings& settings) {
  if (settings.precision)
    return fmt::format("±{} of the ratio", percent_of_digits(*settings.precision));
  if (settings.program) return "±2 % of the ratio";
  return "±1 % of the ratio from 16 MiB on and of trainings, ±2 % from 1 MiB on, ±5 % below";
}

}  // namespace linkgain
