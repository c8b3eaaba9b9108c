#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/predict/prediction_report.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr const char* kModel = "llama-3-8b";
constexpr int kPrompt = 4096;

bool has_sums_of_models(const Record& record) {
  return std::ranges::any_of(record.cases, [](const CaseResult& result) {
    return result.definition.hidden != 0 && uses_link(result.definition);
  });
}

/// Says "1.08x" of one of the phases, which all have a ratio.
std::string speed(const Prediction& prediction, Phase phase) {
  const auto found = std::ranges::find(prediction.phases, phase, &PhasePrediction::phase);
  return readable_ratio(*found->ratio).estimate;
}

}  // namespace

std::optional<Prediction> model_prediction(const RunSummary& summary) {
  if (!has_sums_of_models(summary.record)) return std::nullopt;
  PredictionQuestion question;
  question.decoder = DecoderQuestion{.model = find_model(kModel), .prompt = kPrompt};
  try {
    Prediction prediction = predict(summary.record, question);
    const bool is_whole = std::ranges::all_of(
        prediction.phases, [](const PhasePrediction& phase) { return phase.ratio.has_value(); });
    return is_whole ? std::optional(std::move(prediction)) : std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;  // not all that a model needs was measured
  }
}

std::string model_sentence(const Prediction& prediction) {
  const MeasuredLink& measured = prediction.measured;
  const bool at_most = measured.is_at_most();
  const std::string_view reservation = at_most ? "at most" : "about";
  return fmt::format(
      "By measured products{}, {} decodes one sequence {} {} and reads {} tokens {} {} as fast "
      "(predict{}; engines gain less).",
      at_most ? " and with " + measured.link.name : "", kModel, reservation,
      speed(prediction, Phase::decode), kPrompt, reservation, speed(prediction, Phase::prefill),
      at_most ? ", without latency" : "");
}

}  // namespace linkgain
