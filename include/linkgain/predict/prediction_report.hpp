#pragma once

#include <optional>
#include <string>

#include "linkgain/predict/prediction.hpp"
#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Says "decode, batch 8", "prefill, 4096 tokens", "training, ddp".
std::string label_of(const Prediction& of, const PhasePrediction& phase);

/// Writes the answer: a sentence, a row for each phase, and what it rests on.
Document prediction_report(const Prediction& prediction);

/// Writes the same for other programs; docs/predict.md has its members.
std::string to_json(const Prediction& prediction);

/// Predicts what a model of 8B parameters would gain without a speed of the user's; absent where no
/// sums between a product and a norm were measured, or too few.
std::optional<Prediction> model_prediction(const RunSummary& summary);

/// Says it; an engine that computes more gains less.
std::string model_sentence(const Prediction& prediction);

}  // namespace linkgain
