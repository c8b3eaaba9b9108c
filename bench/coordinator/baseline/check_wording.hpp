#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/baseline/regression.hpp"

/// What the reports of a check have in common.
namespace linkgain {

/// What fails first, the slowest before others, then what is open, too good to be true, same and
/// added.
std::vector<const CaseCheck*> worst_first(const CheckResult& result);

/// Whether a reader must see the case: it fails, is open or too good to be true.
bool worth_a_line(const CaseCheck& check);

/// A shift of logarithms as a share of the reference: "+7.12 %", "-12.3 %"; empty where absent.
std::string shift_text(const std::optional<double>& log);

/// "+6.1 to +8.3 %"; empty without an interval.
std::string interval_text(const CaseCheck& check);

/// Why, and what would settle it; may be empty.
std::string note_text(const CaseCheck& check);

/// All of it in a sentence: "slower: 3.60 ms, baseline 3.27 ms, +10.1 % (95 % CI +9.0 to +11.2 %),
/// tolerance ±5 %; ...".
std::string sentence(const CaseCheck& check);

/// "all_reduce/float32/sum/8B/np2 (p2p)"
std::string title(const CaseCheck& check);

/// "FAILED", "INCONCLUSIVE", "PASSED".
std::string outcome(const CheckResult& result);

/// "FAILED: 2 of 28 cases fail (1 missing, 1 slower); 3 inconclusive, 1 faster, 22 same".
std::string summary_text(const CheckResult& result);

/// "node1 (8 launches) against the baseline of 2026-01-02: 2 x NVIDIA H200, NVLink, NCCL 2.28"
std::string subject_text(const CheckResult& result);

}  // namespace linkgain
