#pragma once

#include <span>
#include <string>
#include <string_view>

#include "linkgain/summary/run_summary.hpp"

/// Parts of a run's page that show figures, as HTML. Where there are several runs all are in each.
namespace linkgain {

/// A run and how it is called beside others; alone it needs no name.
struct ShownRun {
  std::string name;
  const RunSummary* summary = nullptr;
};

/// Shows for each curve of two sizes or more bus bandwidth, time and speed-up over size; NCCL's
/// operation and our kernel share theirs. Empty where there is none.
std::string size_pictures(std::span<const ShownRun> runs);

/// Shows a heat map for each variant of the pairs' first family of each operation; where the
/// summary is not condensed of all. Empty without pairs.
std::string pair_pictures(const RunSummary& summary);

/// Shows what a step of each training computes, and what of its communication that does not hide.
std::string training_picture(std::span<const ShownRun> runs);

/// Shows of each metric of a program the variants' means with their intervals, and every run.
std::string metric_pictures(const RunSummary& summary);

/// Shows temperature, power and SM clock of every GPU from the first sample to the last.
std::string health_pictures(const RunSummary& summary);

/// Answers the five questions that a reader has, each with its answer, as HTML: how much faster, by
/// which path, whether anything is wrong, at which size it pays, and whether it can be trusted.
std::string questions(const RunSummary& summary);

/// Shows the machine of a run as a picture and, folded, as tables: for each host its GPUs and what
/// joins them, the links to the host's processors, and which processors the GPUs share. Without
/// GPUs the ranks stand in their place. Empty where the record has no ranks.
std::string machine_figure(const Record& record, std::string_view id);

}  // namespace linkgain
