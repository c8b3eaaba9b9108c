#pragma once

#include <string>
#include <string_view>

#include "linkgain/cases/case.hpp"
#include "linkgain/cases/traffic.hpp"

/// What reports call a case, in words rather than as case_name() does.
namespace linkgain {

/// Returns "all_reduce" and those parameters that are not the default: "all_reduce float16 graph".
std::string curve_label(const Case& definition);

/// Returns the label with the size: "all_reduce float16 1 GiB".
std::string case_label(const Case& definition);

/// Returns the unit of what a case measures: "s" of times, that of a program's metric where one was
/// given.
std::string unit_of(const Case& definition);

/// Returns the time of one operation, or what a program's metric says: "39.00 ms", "1234.5 tok/s".
std::string readable_result(const Case& definition, Seconds time);

/// Returns whether it is a number of which more is better: what is compared is its reciprocal.
bool is_rate(const Case& definition);
/// What tables of times say where they have such cases.
inline constexpr const char* kRateLegend =
    "A rate is compared as its reciprocal, the time per unit.";

/// Returns "all-reduce", as a sentence has it.
std::string spoken_operation(const Case& definition);

/// Returns "send-recv between GPU 0 and GPU 1", "all-reduce (bfloat16)": all but the size. `ranks`
/// is what they are called. Beside graphs of the same, streams are named, too.
std::string spoken_curve(const Case& definition, std::string_view ranks = "rank",
                         bool is_beside_graphs = false);

/// Returns "all-reduce of 1 GiB (bfloat16)", "the GPT-2 step in bf16", the name of a program's
/// metric.
std::string spoken_case(const Case& definition, std::string_view ranks = "rank",
                        bool is_beside_graphs = false);

/// Returns "bf16 zero2", "bf16 without communication": what a training is called by, without the
/// usual model.
std::string training_label(const Case& definition);

/// Returns what has enough launches of it measured: "--launches 8", of a program "--rounds 8", and
/// the command that takes it, "linkgain run --launches 8".
std::string_view option_for_launches(const Case& definition);
std::string command_for_launches(const Case& definition);

/// Returns algorithm and protocol, as far as they are known: "RING LL", "SIMPLE".
std::string readable_plan(const TransferPlan& plan);

/// Returns "GPT-2 124M", "a tiny GPT-2".
std::string_view readable_model(ModelSize model);

/// Returns "ddp", with what of its buckets is not usual: "ddp, legacy buckets (14)".
std::string strategy_text(const TrainingParameters& training);

/// Returns "The training: GPT-2 124M, fp32, ddp (13 buckets), 2 ranks of 4 x 1024 tokens, dropout
/// 0.1": without an end, as what else there is to say differs. `definition` is one of a training.
std::string training_sentence(const Case& definition);

}  // namespace linkgain
