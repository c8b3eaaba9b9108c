#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/html/page.hpp"
#include "linkgain/summary/run_summary.hpp"

/// Parts of a run's page that show figures. Where there are several runs all are in each.
namespace linkgain {

/// A run and how it is called beside others; alone it needs no name.
struct ShownRun {
  std::string name;
  const RunSummary* summary = nullptr;
};

/// For each curve of two sizes or more headroom, speed-up, bus bandwidth and time over size, as far
/// as it has them; NCCL's operation and linkgain's kernel share theirs.
struct SizePictures {
  std::vector<Picture> answer;  ///< two at most, of the curve that the answer is about
  std::string others;           ///< all others, as HTML
};

/// Draws them; the curve that has the case is the answer's, or the first where none is given. Of
/// runs for headroom that comes first.
SizePictures size_pictures(std::span<const ShownRun> runs, const CaseSummary* answer = nullptr);

/// Draws what stands first in a report: of a program its first metric and what went over NVLink; of
/// a training its steps and speed-ups; of curves what size_pictures() gives; else each row's
/// speed-up.
std::vector<Picture> answer_pictures(const RunSummary& summary);

/// Shows a heat map for each variant of the pairs' first family of each operation; where the
/// summary is not condensed of all. Empty without pairs.
std::string pair_pictures(const RunSummary& summary);

/// Draws what a step of each training computes, and what of its communication that does not hide;
/// those without communication only where nothing else is left. Empty without trainings.
std::vector<Picture> training_pictures(std::span<const ShownRun> runs);

/// Draws the variants' runs of a metric of a program, their means and intervals; along an axis of
/// several values the speed-ups, and the means where the values are numbers. Empty where no run
/// gave it.
std::vector<Picture> metric_pictures(const std::vector<const CaseSummary*>& along);

/// Shows temperature, power and SM clock of every GPU from the first sample to the last.
std::string health_pictures(const RunSummary& summary);

/// The answer's first sentences, as many as two large lines hold, and the others.
struct Headlines {
  std::string large;
  std::string others;
};
Headlines headlines_of(const RunSummary& summary);

/// Makes a file of them, a line on where the pictures are from, and these beside each other.
std::string svg_file(const Headlines& text, const std::string& source,
                     const std::vector<Picture>& pictures);

/// What a reader asks beyond how much faster it is, as HTML: by which path, whether anything is
/// wrong, at which size it pays, and whether it can be trusted.
struct QuestionsHtml {
  std::string verdicts;  ///< a line for each, for the first screen; linked to its grounds
  std::string grounds;   ///< what the verdicts rest on
};
QuestionsHtml questions(const RunSummary& summary);

}  // namespace linkgain
