#pragma once

#include <string>
#include <string_view>

#include "linkgain/record/record.hpp"

/// What reports call a training.
namespace linkgain {

/// "GPT-2 124M", "a tiny GPT-2".
std::string_view readable_model(ModelSize model);

/// "ddp", with what of its buckets is not usual: "ddp, legacy buckets (14)".
std::string strategy_text(const TrainingParameters& training);

/// "The training: GPT-2 124M, fp32, ddp (13 buckets), 2 ranks of 4 x 1024 tokens, dropout 0.1":
/// without an end, as what else there is to say differs. `definition` is one of a training.
std::string training_sentence(const Case& definition);

/// The file that a run's trainings read, or "generated tokens".
std::string readable_tokens(const Settings& settings);

}  // namespace linkgain
