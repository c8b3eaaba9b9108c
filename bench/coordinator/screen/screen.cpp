#include "linkgain/screen/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/repetition.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostWarnings = 3;
constexpr std::size_t kFewRows = 6;  ///< that go before warnings

/// Says "all_reduce p2p  16 B ▁▁▂▃▆▇██ 1 GiB  324.3 of 450 GB/s (72 %)": the first variant's bus
/// bandwidth by size, as a share of the limit where that is known. Empty of one size, and of a
/// latency.
std::string plot_of(const Curve& curve, const std::string& variant_name, const ScreenStyle& style) {
  if (is_latency(curve.definition().operation)) return {};
  static constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<const VariantResult*> points;
  std::vector<Bytes> sizes;
  double most = 0.0;
  for (const CaseSummary* each : curve.cases) {
    const VariantResult& variant = each->result->variants.front();
    if (!variant.busbw || has_wrong_data(variant)) continue;
    points.push_back(&variant);
    sizes.push_back(each->definition().size);
    most = std::max(most, *variant.busbw);
  }
  constexpr std::size_t kFewest = 2;
  if (points.size() < kFewest || most <= 0.0) return {};
  const VariantResult& largest = *points.back();
  std::string end = readable_bandwidth(*largest.busbw);
  if (largest.fraction_of_limit && *largest.fraction_of_limit > 0.0) {
    const double limit = *largest.busbw / *largest.fraction_of_limit;
    most = std::max(most, limit);
    end = fmt::format("{:.4g} of {:.3g} GB/s ({})", *largest.busbw, limit,
                      rounded_percent(*largest.fraction_of_limit, 0));
  }
  std::string plot;
  for (const VariantResult* point : points) {
    const auto level = static_cast<std::size_t>(*point->busbw / most * kBlocks.size());
    plot += kBlocks[std::min(level, kBlocks.size() - 1)];
  }
  const Case definition = curve.definition();
  const std::string bars =
      fmt::format("{} {} {}", readable_bytes(sizes.front()), plot, readable_bytes(sizes.back()));
  const std::string head = fmt::format("{}, {}", curve_label(definition), variant_name);
  for (const std::string& line : {fmt::format("  {}  {}  {}", head, bars, end),
                                  fmt::format("  {}  {}", bars, end), "  " + bars}) {
    if (display_width(line) <= style.columns) return line + "\n";
  }
  return {};
}

/// Tells whether it compares nothing.
bool has_one_variant(const RunSummary& summary) {
  return summary.record.settings.variants.size() == 1;
}

/// Names the machine and says how far the run came; of a program `host` stands before it.
std::string machine_line(const RunSummary& summary, const std::string& host,
                         const ScreenStyle& style) {
  const Record& record = summary.record;
  const Machine& machine = record.machine;
  const bool is_finished = ending_of(record) == name_of(RunStatus::complete) && record.wall_seconds;
  if (summary.is_of_program()) {
    return with_end(one_line(host + describe_ranks(machine)),
                    is_finished ? fmt::format("finished in {:.0f} s", *record.wall_seconds)
                                : std::string(ending_of(record)),
                    style);
  }
  std::string text = machine.ranks.empty() ? "no ranks" : one_line(describe_ranks(machine));
  if (record.settings.backend == BackendKind::mpi) text += ", MPI in CPU memory (no GPU figures)";
  if (!machine.links.empty()) {
    const std::string link = label_of(machine.links.front());
    const bool alike = std::ranges::all_of(
        machine.links, [&](const PairLink& each) { return label_of(each) == link; });
    if (alike && !link.ends_with('?')) text += ", " + link;
  }
  if (machine.software.nccl_library) text += ", NCCL " + one_line(*machine.software.nccl_library);
  const auto measured = std::ranges::count_if(summary.cases, &CaseSummary::is_measured);
  const std::string all = counted(std::ssize(summary.cases), "case", "cases");
  std::string end = fmt::format("{}: {} of {} measured", ending_of(record), measured, all);
  if (is_finished) {
    end = fmt::format("finished in {:.0f} s", *record.wall_seconds);
  } else if (record.status == RunStatus::unfinished) {  // a journal lacks what was to come
    end = fmt::format("{}: {} measured", ending_of(record), counted(measured, "case", "cases"));
  }
  return with_end(text, fmt::format("{}, {}", summary.launches.text(), end), style);
}

/// Says nothing where a larger size has what the row shows, or none was asked for, or of a latency,
/// which is shown by its smallest.
std::string larger_sizes(const RunSummary& summary, const AnswerRow& row) {
  if (is_latency(row.of->definition().operation)) return {};
  for (const CaseGroup& group : summary.groups) {
    const std::vector<const CaseSummary*>& cases = group.all.cases;
    if (std::ranges::find(cases, row.of) == cases.end()) continue;
    const Bytes largest = cases.back()->definition().size;
    const auto is_larger = [&](const CaseSummary* each) {
      const Comparison* const own = AnswerRow{each, row.other}.comparison();
      const bool is_measured = row.other == 0 ? each->is_measured : own && own->has_speed_up();
      return is_measured && each->definition().size.value > row.of->definition().size.value;
    };
    if (largest.value <= row.of->definition().size.value) return {};
    if (std::ranges::any_of(cases, is_larger)) return {};
    return fmt::format("No larger size, of up to {}, was measured{}.", readable_bytes(largest),
                       has_one_variant(summary) ? "" : " with both");
  }
  return {};
}

/// Shows the heaviest warnings, a line each; of a file all of them.
std::string warning_lines(std::span<const Warning> own, std::size_t most,
                          const ScreenStyle& style) {
  std::vector<Warning> warnings(own.begin(), own.end());
  std::ranges::stable_sort(warnings, {},
                           [](const Warning& warning) { return row_of(warning).weight; });
  std::string text;
  const std::size_t shown_warnings =
      style.is_file ? warnings.size() : std::min(warnings.size(), most);
  const std::size_t more = warnings.size() - shown_warnings;
  for (std::size_t i = 0; i < shown_warnings; ++i) {
    const bool last = i + 1 == shown_warnings;
    const std::string count = last && more > 0 ? fmt::format(" (and {} more)", more) : "";
    constexpr std::string_view kLead = "warning:";
    const std::size_t room =
        style.is_file ? kAnyColumns : style.columns - kLead.size() - 1 - count.size();
    const Tone tone =
        row_of(warnings[i]).weight == WarningWeight::wrong ? Tone::bad : Tone::doubtful;
    const bool is_known = !is(warnings[i], WarningCode::unknown);
    const std::string shown = (is_known ? "" : label_of(warnings[i]) + ": ") + warnings[i].text;
    text += painted(std::string(kLead), tone, style) + " " + cut(shown, room, style) + count + "\n";
  }
  return text;
}

/// Draws the plot of the first row's curve.
std::string first_plot(const RunSummary& summary, const Answer& answer, const ScreenStyle& style) {
  const CaseSummary* const first = answer.rows.front().of;
  const Curve* const curve = summary.curve_with(first);
  return curve == nullptr ? "" : plot_of(*curve, variant_title(*first, 0), style);
}

/// Counts the rows that outlast sentences: those of the headroom where that was asked for, and what
/// precedes them; of a program those that show the first metric along its axis; else 1.
std::size_t rows_before_sentences(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  if (answer.begins_with_headroom) return answer.spoken.size() + answer.spoken_headroom.size();
  const CaseSummary* const main = answer.main();
  if (main == nullptr || !main->definition().metric) return 1;
  return std::max<std::size_t>(1, summary.along_axis(*main->definition().metric).size());
}

/// Joins as many sentences; says where the others are.
std::string first_sentences(std::span<const std::string> all, std::size_t most) {
  if (most >= all.size()) return fmt::format("{}", fmt::join(all, " "));
  return fmt::format("{} More is in the report.", fmt::join(all.first(most), " "));
}

std::string screen_of(const RunSummary& summary, const Answer& answer, const std::string& sentence,
                      const std::string& footer, const ScreenStyle& style, std::size_t told) {
  const bool is_program = summary.is_of_program();
  std::string text = machine_line(summary, summary.record.machine.host + ", ", style);
  if (is_program) text += cut(measured_command(summary.record), style.columns, style) + "\n";
  std::string plot;
  std::vector<std::string> notes;
  if (answer.main() != nullptr) {
    for (const Table& table : answer_tables(summary, answer)) {
      text += "\n" + to_terminal(table, style);
    }
    if (!is_program) {
      plot = first_plot(summary, answer, style);
      notes.push_back(
          in_lines(fmt::format("Path: {}", fmt::join(path_sentences(*answer.main()), " ")), style));
    }
    for (const std::string& note :
         {left_out_text(answer, style.columns), larger_sizes(summary, answer.rows.front())}) {
      if (!note.empty()) notes.push_back(in_lines(note, style));
    }
  }
  const std::string end = "\n" + in_lines(sentence, answer_alarm(summary), style);
  const auto lines = [&] {
    return line_count(text + fmt::format("{}", fmt::join(notes, "")) + footer + end) + 1;
  };
  // Where the terminal is narrow, one row and a long answer leave no room for all notes; the path's
  // and what is left out outlast sentences.
  const bool may_fit = !style.is_file && answer.rows.size() == 1 &&
                       line_count(text + footer + end) < kMostScreenLines;
  const std::size_t kept = answer.left_out.empty() ? 1 : 2;
  while (may_fit && notes.size() > kept && lines() > kMostScreenLines) notes.pop_back();
  const std::size_t used = lines();
  std::size_t room = kMostScreenLines - std::min(kMostScreenLines, used);
  // Some rows make room for warnings, and the plot for many.
  const bool has_few_rows = !is_program && answer.rows.size() <= kFewRows;
  const std::span<const Warning> all = summary.record.warnings;
  const std::size_t untold = std::min(kMostWarnings, all.size() - std::min(told, all.size()));
  if (!plot.empty() && room > (has_few_rows ? 1 : untold)) {
    text += plot;
    --room;
  }
  const std::size_t warnings =
      has_few_rows ? std::max(std::min<std::size_t>(untold, 1), std::min(kMostWarnings, room))
                   : kMostWarnings;
  text += fmt::format("{}", fmt::join(notes, "")) +
          warning_lines(all.subspan(std::min(told, all.size())), warnings, style);
  text += footer + "\n" + end;
  return style.utf8 ? text : in_ascii(std::move(text));
}

}  // namespace

std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style,
                   std::size_t told) {
  ScreenStyle on_terminal = style;
  on_terminal.is_file = false;
  const std::vector<std::string> sentences = answer_sentences(summary, answer_of(summary));
  std::size_t spoken = sentences.size();
  std::size_t least = rows_before_sentences(summary);
  for (std::size_t rows = kMostScreenLines;;) {
    const Answer answer = answer_of(summary, rows);
    const std::string sentence = first_sentences(sentences, spoken);
    const std::string text = screen_of(summary, answer, sentence, footer, on_terminal, told);
    if (line_count(text) <= kMostScreenLines || (rows == 1 && spoken == 1)) {
      if (!style.is_file) return text;
      return screen_of(summary, answer, first_sentences(sentences, sentences.size()), footer, style,
                       told);
    }
    if (rows <= least && spoken == 1) {  // sentences make no room for all of them
      least = 1;
      spoken = sentences.size();
    }
    --(rows > least ? rows : spoken);
  }
}

namespace {

constexpr ScreenStyle kCardStyle{.columns = kCardColumns};

/// Says what the machine ran, in a line.
std::string circumstances(const RunSummary& summary) {
  const Machine& machine = summary.record.machine;
  const Software& software = machine.software;
  std::vector<std::string> parts;
  if (software.driver) parts.push_back("driver " + *software.driver);
  if (software.cuda_runtime) parts.push_back("CUDA " + *software.cuda_runtime);
  if (!machine.kernel.empty()) parts.push_back(machine.kernel);
  if (!software.linkgain.empty()) parts.push_back("linkgain " + software.linkgain);
  if (summary.is_of_program()) {
    parts.push_back(counted(std::ssize(summary.record.runs), "run", "runs"));
  }
  return cut(fmt::format("{}", fmt::join(parts, ", ")), kCardColumns, kCardStyle) + "\n";
}

/// Says the path in the first form that leaves room for the answer and a warning, else in the last
/// form; the whole answer; and warnings, for one of which there always is a line.
std::string card_lines(const RunSummary& summary, std::span<const std::string> paths,
                       const Answer& answer, std::size_t room) {
  const std::span<const Warning> warnings = summary.record.warnings;
  const std::string text = in_lines(answer_sentence(summary, answer), kCardStyle);
  const std::size_t least = warnings.empty() ? 0 : 1;
  const auto fits = [&](const std::string& path) {
    return line_count(path + text) + least <= room;
  };
  const auto found = std::ranges::find_if(paths, fits);
  const std::string lines = (found == paths.end() ? paths.back() : *found) + text;
  const std::size_t left = room - std::min(room, line_count(lines) + least);
  return lines + warning_lines(warnings, std::min(kMostWarnings, left + least), kCardStyle);
}

}  // namespace

std::string card(const RunSummary& summary) {
  const Record& record = summary.record;
  const Answer answer = answer_of(summary);
  const std::string head = machine_line(summary, "", kCardStyle) + circumstances(summary);
  const std::string command = record.settings.argv.empty() ? "" : "$ " + repetition(record) + "\n";
  std::vector<std::string> paths{""};
  if (answer.main() != nullptr) {
    const std::string path = path_sentences(*answer.main()).front();
    paths = {to_terminal(card_table(answer), kCardStyle)};
    // The answer of a program does not have its values.
    if (!summary.is_of_program()) paths.push_back(in_lines("Path: " + path, kCardStyle));
  }
  constexpr std::size_t kFences = 2;
  const std::size_t used = line_count(head + command) + kFences;
  return fenced(
      head + card_lines(summary, paths, answer, kMostCardLines - std::min(kMostCardLines, used)) +
      command);
}

}  // namespace linkgain
