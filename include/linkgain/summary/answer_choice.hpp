#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "linkgain/summary/changes.hpp"

/// What a run says first: of which cases, chosen once for the screen, reports and pages.
namespace linkgain {

/// So many sentences speak of variants in full; of others one says what changed most.
inline constexpr std::size_t kMostSentences = 3;

/// What one sentence says: of a row, and of other variants beside which the same changed.
struct AnswerSentence {
  std::vector<AnswerRow> rows;
  AnswerRow contrary{};  ///< most_contrary()
  /// What is shown to have changed more than that the other way, in another curve.
  AnswerRow contrary_elsewhere{};
  /// In how many other curves all of these variants, settings, changed as here, and where one did
  /// most.
  std::int64_t alike_curves = 0;
  AnswerRow most_alike{};
  AnswerRow
      alike_contrary{};  ///< most_contrary() of that, where contrary_elsewhere does not say it

  /// Gives what it names beside its rows; of some there is no case.
  std::array<AnswerRow, 4> beside() const {
    return {contrary, contrary_elsewhere, most_alike, alike_contrary};
  }
};

/// What stands for a run: chosen once, for the screen, reports and pages.
struct Answer {
  /// What the sentence is about: for each later variant what is shown to have changed most, of
  /// those whose intervals do not tell which did the first row, and of a setting the largest change
  /// of the sizes around that. Where nothing is shown to differ, or data are wrong, the first row.
  /// What changed most of all comes first, other versions of NCCL before settings, and of settings
  /// what changed most the other way within kMostSentences. Empty where there is no row.
  std::vector<AnswerRow> spoken{};
  /// What is said of these, where data are right: a sentence each.
  std::vector<AnswerSentence> sentences{};
  /// For each operation, form, direction, kernel, precision, strategy and later variant the largest
  /// size, of latencies the smallest, and of either way the size that changed most where one is
  /// shown to have changed more than that; the trainings last. Whatever the sentences name has a
  /// row. As many as there is room for: first what is spoken of, where a sentence has several rows
  /// its first, last what is shown to be within kFewPerCent of 1x.
  std::vector<AnswerRow> rows{};
  /// Cases of our own kernels that have a library_ratio: of each curve the smallest and the largest
  /// size, and one between them. As many as there is room for.
  std::vector<const CaseSummary*> headroom{};
  /// Those of the first such curve, of which the sentence speaks.
  std::vector<const CaseSummary*> spoken_headroom{};
  bool has_other_headroom = false;  ///< other curves have some, too
  /// Headroom is what the run was asked for: everything in plain memory has a kernel beside it, one
  /// of which is faster, and no variant changes kernels. Sentences, tables and pictures begin with
  /// it.
  bool begins_with_headroom = false;
  /// What was measured and has no row, by name.
  std::vector<std::string> left_out{};

  /// Gives the case that the sentence is about; null where there is none.
  const CaseSummary* main() const { return spoken.empty() ? nullptr : spoken.front().of; }
  /// Gives the case whose curve is the first picture.
  const CaseSummary* pictured() const {
    return begins_with_headroom ? spoken_headroom.front() : main();
  }
  const Comparison* comparison() const {
    return spoken.empty() ? nullptr : spoken.front().comparison();
  }
};

/// Chooses it of what was measured with the first variant and another one, or with any where there
/// is only one. What it speaks of does not depend on the room.
Answer answer_of(const RunSummary& summary,
                 std::size_t most_rows = std::numeric_limits<std::size_t>::max());

/// Chooses it of a program: all variants of the metrics that some run gave. Speaks of the first
/// metric, at the value of the axis where it changed most, of another one where that alone changed,
/// and of what became of the wall time where that is another one; with more than two variants the
/// table says it. A control is spoken of apart.
Answer answer_of_program(const RunSummary& summary, std::size_t most_rows);

/// Says "all_reduce 1 GiB", "GPT-2 step fp32".
std::string answer_label(const Case& definition);

/// Says "send-recv of 64 KiB (graph)", as sentences do: how a case was launched, and its pair,
/// where another one of the run differs in these.
std::string spoken_case_of(const RunSummary& summary, const Case& definition);

/// Says "send-recv (graph)" of the case's curve, as sentences do.
std::string spoken_curve_of(const RunSummary& summary, const Case& definition);

}  // namespace linkgain
