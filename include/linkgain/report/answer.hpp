#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/answer_choice.hpp"
#include "linkgain/tables/document.hpp"

/// How what a run says first is written, in whatever form it is read.
namespace linkgain {

/// Says in at most so many columns what is left out; empty where nothing is.
std::string left_out_text(const Answer& answer, std::size_t most);

/// Says what the run says: wrong data where there are any; else who disturbed it, what differs most
/// for each variant, and the headroom where kernels were measured, first where it was asked for.
std::vector<std::string> answer_sentences(const RunSummary& summary, const Answer& answer);

/// Gives answer_sentences() in one text.
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
/// variants' times, speed-up, its interval and bandwidths, and tables of the headroom and of what
/// is predicted of a model. Empty where nothing was measured.
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

/// Says what every reader must know beside it: what has one variant alone, which data are wrong,
/// what has no row, a run cut short, the mpi backend's figures being no GPU figures.
Document answer_notes(const RunSummary& summary);

/// Shows answer_sentence(), answer_tables() with all rows, and answer_notes().
Document answer_document(const RunSummary& summary);

}  // namespace linkgain
