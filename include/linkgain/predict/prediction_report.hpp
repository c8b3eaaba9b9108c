#pragma once

#include <string>

#include "linkgain/predict/prediction.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Says "decode, batch 8", "prefill, 4096 tokens", "training, ddp".
std::string label_of(const Prediction& of, const PhasePrediction& phase);

/// Writes the answer: a sentence, a row for each phase, and what it rests on.
Document prediction_report(const Prediction& prediction);

/// Writes the same for other programs; docs/predict.md has its members.
std::string to_json(const Prediction& prediction);

}  // namespace linkgain
