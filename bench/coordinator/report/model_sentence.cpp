#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/predict/prediction.hpp"
#include "linkgain/tables/number_format.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

constexpr const char* kModel = "llama-3-8b";
constexpr int kPrompt = 4096;

bool has_sums_of_models(const Record& record) {
  return std::ranges::any_of(record.cases, [](const CaseResult& result) {
    return result.definition.hidden != 0 && uses_link(result.definition);
  });
}

/// Returns what predict says of the phase's speed; empty where it says none.
std::string speed(const Prediction& prediction, Phase phase) {
  const auto found = std::ranges::find(prediction.phases, phase, &PhasePrediction::phase);
  if (found == prediction.phases.end() || !found->ratio) return {};
  return readable_ratio(*found->ratio).estimate;
}

}  // namespace

std::string model_sentence(const RunSummary& summary) {
  if (!has_sums_of_models(summary.record)) return {};
  PredictionQuestion question;
  question.decoder = DecoderQuestion{.model = find_model(kModel), .prompt = kPrompt};
  try {
    const Prediction prediction = predict(summary.record, question);
    const std::string decode = speed(prediction, Phase::decode);
    const std::string prefill = speed(prediction, Phase::prefill);
    if (decode.empty() || prefill.empty()) return {};
    const MeasuredLink& measured = prediction.measured;
    return fmt::format(
        "By these sums and the measured products, {} split over {} GPUs would{} decode one "
        "sequence at most {} as fast and read a prompt of {} tokens at most {} as fast (linkgain "
        "predict).",
        kModel, measured.ranks, measured.is_at_most() ? " with " + measured.link.name : "", decode,
        kPrompt, prefill);
  } catch (const UsageError&) {
    return {};  // not all that a model needs was measured
  }
}

}  // namespace linkgain
