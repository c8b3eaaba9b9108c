#pragma once

#include <string>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"

/// What a judgement rests on, in words.
namespace linkgain {

Tone tone_of(Verdict verdict);

/// Says "GPUs were throttled in 3 samples"
std::string reason_text(const Reason& reason);

/// Lists all reasons, with semicolons between them; empty where there is none.
std::string reason_text(const Judgement& judgement);

/// Says "95 % CI 12.4x to 12.9x".
std::string interval_text(const RatioText& text);

/// Names the half width that intervals were to have: "±0.5 % of the ratio", or by size where none
/// was asked for.
std::string precision_text(const Settings& settings);

}  // namespace linkgain
