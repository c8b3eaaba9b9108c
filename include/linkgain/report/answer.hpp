#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

/// What a run says first, in whatever form it is read.
namespace linkgain {

/// What stands for a run: chosen once, for the screen, reports and pages.
struct Answer {
  /// What the sentence is about: what is shown to have changed most, of those whose intervals do
  /// not tell which did the first row, then the first case. Where nothing is shown to differ, or
  /// data are wrong, the first row; null where there is no row.
  const CaseSummary* main = nullptr;
  const Comparison* comparison = nullptr;  ///< of `main`; null where it has none
  std::vector<std::size_t> variants{};     ///< of `main`, in its table
  /// The largest size of each operation, kernel and the like, the smallest of latencies; the
  /// trainings last. As many as there is room for.
  std::vector<const CaseSummary*> rows;
  /// What was measured and has no row, by name: operations, trainings, variants beside the first.
  std::vector<std::string> left_out{};

  /// Names the variant that rows show beside the first one; there is a comparison.
  const std::string& other_variant() const { return comparison->other->variant; }
};

/// Says in at most so many columns what is left out; empty where nothing is.
std::string left_out_text(const Answer& answer, std::size_t most);

inline constexpr std::size_t kMostAnswerRows = 6;

/// Chooses it of what was measured with the first variant and another one, or with any where `has`
/// says so.
Answer answer_of(const RunSummary& summary, bool CaseSummary::*has = &CaseSummary::is_compared,
                 std::size_t most_rows = kMostAnswerRows);

/// Says what the run says in a sentence: wrong data where there are any, else what differs most.
std::string answer_sentence(const RunSummary& summary, const Answer& answer);

/// Says what answer_sentence() begins with where something is wrong: "WRONG DATA in 2 of 3 cases",
/// "WRONG PATH". Else empty.
std::string answer_alarm(const RunSummary& summary);

/// Shows the main case's variants in the form of the guide: "NVLink", Y and N, and the time. Of
/// more than two each has its speed-up.
Table variants_table(const Answer& answer);

/// Shows for each row the first variant and the one that the sentence is about, speed-up and its
/// interval. There is a comparison.
Table answer_table(const Answer& answer);

/// Shows the variants of metrics of a program: their values, in how many runs, and speed-ups.
Table metrics_table(const std::vector<const CaseSummary*>& metrics);

/// Shows what a screen has of the run: metrics_table() of a program; variants_table() and
/// answer_table(), or times and bandwidths where one variant ran. Empty where nothing was measured.
std::vector<Table> answer_tables(const RunSummary& summary, const Answer& answer);

/// Shows the main case's variants with bandwidth, path and NVLink traffic, for a card.
Table card_table(const Answer& answer);

/// Says "NVLink with P2P on, host memory with P2P off. NVLink carried 100.0 % and 0 % of the
/// expected bytes."
std::string path_sentence(const CaseSummary& each);

/// Says "P2P on" and "P2P off" of the pair that every run has unless it names others, which says
/// more than their names do.
std::string variant_title(const CaseSummary& each, std::size_t variant);

/// Says "all_reduce 1 GiB", "GPT-2 step fp32".
std::string answer_label(const Case& definition);

/// Shows answer_sentence(), variants_table() and answer_table(), as on the screen.
Document answer_document(const RunSummary& summary);

}  // namespace linkgain
