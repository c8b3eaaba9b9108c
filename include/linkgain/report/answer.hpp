#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

/// What a run says first, in whatever form it is read.
namespace linkgain {

/// A line of the answer: a case, the first variant beside a later one.
struct AnswerRow {
  const CaseSummary* of = nullptr;
  std::size_t other = 0;  ///< place of that variant; 0: there is none, or all are meant

  /// Gives the comparison of the two; null where there is none.
  const Comparison* comparison() const;
  bool operator==(const AnswerRow&) const = default;
};

/// A change of less is worth no word, and no row, beside a larger one.
inline constexpr double kFewPerCent = 0.03;

/// So many sentences speak of variants; others are named.
inline constexpr std::size_t kMostSentences = 3;

/// What stands for a run: chosen once, for the screen, reports and pages.
struct Answer {
  /// What the sentence is about: for each later variant what is shown to have changed most, of
  /// those whose intervals do not tell which did the first row, and of a setting the largest change
  /// of the sizes around that. Where nothing is shown to differ, or data are wrong, the first row.
  /// What changed most of all comes first, other versions of NCCL before settings, and of settings
  /// what changed most the other way within kMostSentences. Empty where there is no row.
  std::vector<AnswerRow> spoken{};
  /// For each operation, form, direction, kernel, precision, strategy and later variant the largest
  /// size, of latencies the smallest, and the size whose ratio is shown to be the largest where
  /// that is another one; the trainings last. As many as there is room for: what is shown to be
  /// within kFewPerCent of 1x is left out first.
  std::vector<AnswerRow> rows{};
  /// Cases of our own kernels that have a library_ratio: of each curve the smallest and the largest
  /// size, and one between them. As many as there is room for.
  std::vector<const CaseSummary*> headroom{};
  /// Those of the first such curve, of which the sentence speaks.
  std::vector<const CaseSummary*> spoken_headroom{};
  /// What was measured and has no row, by name.
  std::vector<std::string> left_out{};

  /// Gives the case that the sentence is about; null where there is none.
  const CaseSummary* main() const { return spoken.empty() ? nullptr : spoken.front().of; }
  const Comparison* comparison() const {
    return spoken.empty() ? nullptr : spoken.front().comparison();
  }
};

/// Neighbouring sizes of a curve.
using SizeRange = std::span<const CaseSummary* const>;

/// Finds the sizes of the row's curve that changed as it did, its own among them. The row, which
/// must outlive them, has a comparison with a ratio.
std::vector<SizeRange> ranges_like(const RunSummary& summary, const AnswerRow& row);

/// Says "8 B to 1 MiB and of 16 MiB to 1 GiB", with this preposition; of many ranges the ends, "8 B
/// to 1 GiB (9 sizes)".
std::string ranges_text(const std::vector<SizeRange>& ranges, std::string_view preposition);

/// Says in at most so many columns what is left out; empty where nothing is.
std::string left_out_text(const Answer& answer, std::size_t most);

/// Chooses it of what was measured with the first variant and another one, or with any where there
/// is only one. What it speaks of does not depend on the room.
Answer answer_of(const RunSummary& summary,
                 std::size_t most_rows = std::numeric_limits<std::size_t>::max());

/// Says what the run says: wrong data where there are any; else who disturbed it, what differs most
/// for each variant, and the headroom where kernels were measured.
std::vector<std::string> answer_sentences(const RunSummary& summary, const Answer& answer);

/// Gives them in one text.
std::string answer_sentence(const RunSummary& summary, const Answer& answer);

/// Gives the same with all its rows to programs that read the JSON.
RecordedAnswer recorded_answer(const RunSummary& summary);

/// Says what answer_sentence() begins with where something is wrong: "WRONG DATA in 2 of 3 cases",
/// "WRONG PATH". Else empty.
std::string answer_alarm(const RunSummary& summary);

/// Shows variants of metrics of a program: their values, in how many runs, and speed-ups. Of two
/// variants the first one's row has the speed-up. What went over NVLink stands with the first
/// metric, if not elsewhere.
enum class Traffic { here, elsewhere };
Table metrics_table(const std::vector<const CaseSummary*>& metrics,
                    Traffic traffic = Traffic::here);

/// Shows the answer: metrics_table() of a program; else a row for each of Answer::rows, with both
/// variants' times, speed-up, its interval and bandwidths, and a table of the headroom. Empty where
/// nothing was measured.
std::vector<Table> answer_tables(const RunSummary& summary, const Answer& answer);

/// Shows the main case's variants with bandwidth, path and NVLink traffic, for a card.
Table card_table(const Answer& answer);

/// Says "NVLink with P2P on, host memory with P2P off." and "NVLink carried 100.0 % of the expected
/// bytes with P2P on, 0 % with P2P off."; of a program "NVLink carried 110 GB in a run with P2P on,
/// 0 B with P2P off." and what is not counted. There is a first one.
std::vector<std::string> path_sentences(const CaseSummary& each);

/// Says "P2P on" and "P2P off" of the pair that every run has unless it names others, which says
/// more than their names do.
std::string variant_title(const CaseSummary& each, std::size_t variant);

/// Says "all_reduce 1 GiB", "GPT-2 step fp32".
std::string answer_label(const Case& definition);

/// Says what every reader must know beside it: what has one variant alone, which data are wrong,
/// what has no row, a run cut short, the mpi backend's figures being no GPU figures.
Document answer_notes(const RunSummary& summary);

/// Shows answer_sentence(), answer_tables() with all rows, and answer_notes().
Document answer_document(const RunSummary& summary);

}  // namespace linkgain
