#pragma once

#include <string>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

/// What a race of NCCL's settings, `linkgain run --tune`, came to.
namespace linkgain {

/// Says what a race confirmed of each setting, and where that takes longer; and what to set, or
/// that there is nothing to gain.
std::vector<std::string> tuning_sentences(const RunSummary& summary);

/// Makes a section of a report, with a heading of the second level: how many candidates there were,
/// and of each size its winner by the launches that chose it and by those that did not. Empty of
/// other runs.
Document tuning_section(const RunSummary& summary);

/// Writes what a race confirmed as the file of NCCL's example tuner plugin (plugins/tuner/example;
/// in NCCL 2.28 ext-tuner/example), which chooses algorithm and protocol by size. What it cannot
/// express, as numbers of CTAs, stands in comments. Empty where there is nothing for it, and of
/// other runs.
std::string tuner_file(const RunSummary& summary);

}  // namespace linkgain
