#include "linkgain/html/run_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/html/machine_picture.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/tuning/tuning_report.hpp"
#include "run_pictures.hpp"

namespace linkgain {
namespace {

std::string paragraph(const std::string& text) {
  Document document;
  if (!text.empty()) document.paragraph(text);
  return to_html(document);
}

/// Counts the columns of text that the table needs where titles and the first cells are broken
/// between words.
std::size_t least_width(const Table& table) {
  const auto longest_word = [](const std::string& text) {
    std::size_t most = 0;
    for (const std::string& word : split(text, ' ')) most = std::max(most, display_width(word));
    return most;
  };
  std::size_t sum = 0;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (table.is_left_out(i)) continue;
    std::size_t width = longest_word(table.columns()[i].title);
    for (const Cells& row : table.rows()) {
      const std::string cell = row[i].plain();
      width = std::max(width, i == 0 ? longest_word(cell) : display_width(cell));
    }
    sum += width;
  }
  return sum;
}

/// Shows the sentence, its pictures, the tables of the screen, and what else a reader asks.
std::string answer_html(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  const QuestionsHtml asked = questions(summary);
  std::string cells;
  const std::vector<Picture> pictures = answer_pictures(summary);
  for (const Picture& picture : pictures) {
    cells += figure(picture, fmt::format("answer-{}", &picture - pictures.data()));
  }
  std::string tables;
  constexpr std::size_t kMostBesideOthers = 58;  // in a third of a page of 1600 px
  bool is_wide = false;
  const bool is_of_program = summary.is_of_program() && answer.main() != nullptr;
  for (const Table& table :
       is_of_program
           ? std::vector{metrics_table(summary.along_axis(*answer.main()->definition().metric))}
           : answer_tables(summary, answer)) {
    const std::string_view first = is_of_program ? "Each variant" : "Each operation";
    tables += to_html(table, tables.empty() ? first : table.columns().front().title);
    is_wide = is_wide || least_width(table) > kMostBesideOthers;
  }
  if (!tables.empty()) {
    cells += fmt::format("<div class=\"{}{}\">\n{}</div>\n", is_of_program ? "" : "rows",
                         is_wide ? " wide" : "", tables);
  }
  // Many sentences stand below the pictures, which the first screen is to hold.
  constexpr std::size_t kMostAbovePictures = 300;
  const Headlines text = headlines_of(summary);
  const std::string others = paragraph(text.others);
  const bool are_above = display_width(text.others) <= kMostAbovePictures;
  return paragraph(text.large) + (are_above ? others : "") + asked.verdicts +
         side_by_side(cells + asked.grounds) + (are_above ? "" : others) +
         to_html(answer_notes(summary));
}

/// Takes what stands below the heading of a section.
std::string body_of(const Document& section) {
  const HtmlPage page = page_of(section);
  return page.sections.empty() ? std::string() : page.sections.front().body;
}

std::string health_html(const RunSummary& summary) {
  Document document;
  for (const std::string& line : health_lines(summary)) document.paragraph(line);
  return to_html(document);
}

std::string machine_html(const Record& record, const std::string& id) {
  return machine_figure(record.machine, id) +
         folded("Software, rates and ranks", body_of(machine_section(record)));
}

constexpr const char* kWords =
    "<dl>\n"
    "<dt>NVLink</dt><dd>A direct link between GPUs.</dd>\n"
    "<dt>P2P</dt><dd>Peer to peer: a GPU reads and writes another GPU's memory. Without it bytes "
    "go through the host's memory.</dd>\n"
    "<dt>all_reduce</dt><dd>Every GPU gets the sum of all GPUs' data; a training does it in every "
    "step.</dd>\n"
    "<dt>send_recv, copy_push, copy_pull</dt><dd>Data go from one GPU to another: by NCCL, or by "
    "a plain copy that the sender or the receiver makes.</dd>\n"
    "<dt>0-&gt;1, 0&lt;-&gt;1</dt><dd>From GPU 0 to GPU 1; both ways at once, of which bus "
    "bandwidth is that of each way.</dd>\n"
    "<dt>Latency</dt><dd>The time of the smallest message, one way.</dd>\n"
    "<dt>Bus bandwidth, busbw</dt><dd>Bytes that the busiest link must carry, over the time: it "
    "compares with what the link can carry.</dd>\n"
    "<dt>Speed-up</dt><dd>Time with the other variant over time with the first one. Above 1x the "
    "first one is faster.</dd>\n"
    "<dt>95 % CI</dt><dd>Confidence interval: had the run been repeated often, 95 of 100 such "
    "intervals would hold the true value.</dd>\n"
    "<dt>Launch</dt><dd>One start of a variant's job. Only launches are independent of each "
    "other.</dd>\n"
    "<dt>Exposed communication</dt><dd>What a training step takes longer than one without "
    "communication.</dd>\n"
    "</dl>\n";

std::string pairs_html(const RunSummary& summary) {
  const Document tables = pair_tables(summary);
  if (tables.empty()) return {};
  return pair_pictures(summary) + folded("All figures by pair", to_html(tables));
}

/// Tells whether a training's steps are the picture of the answer.
bool is_of_training(const Answer& answer) {
  return answer.main() != nullptr && is_training(answer.main()->definition().operation);
}

std::string sizes_html(const RunSummary& summary, const ShownRun& run) {
  const Answer answer = answer_of(summary);
  const SizePictures pictures =
      answer.main() == nullptr ? SizePictures{} : size_pictures({&run, 1}, answer.pictured());
  return (is_of_training(answer) ? figures(pictures.answer, "sizes") : "") + pictures.others +
         folded("All figures by size, with marks", to_html(size_tables(summary)));
}

std::string training_html(const RunSummary& summary, const ShownRun& run) {
  if (summary.trainings.empty() && summary.missing_trainings.empty()) return {};
  return (is_of_training(answer_of(summary)) ? ""
                                             : figures(training_pictures({&run, 1}), "training")) +
         folded("All figures of trainings", body_of(training_section(summary)));
}

/// Shows a row for each run: what it is of and what it says.
std::string runs_table(std::span<const ShownRun> runs) {
  Table table({{"Run"}, {"Machine"}, {"Measured"}, {"Answer"}}, "Runs on this page");
  for (const ShownRun& run : runs) {
    const Record& record = run.summary->record;
    table.add_row({run.name,
                   fmt::format("{}, {}", record.machine.host, describe_ranks(record.machine)),
                   fmt::format("{}, {}", record.started, ending_of(record)),
                   answer_sentence(*run.summary, answer_of(*run.summary))});
  }
  return to_html(table);
}

/// Shows a program's answer, then its report, with pictures of its other metrics and of the
/// machine.
std::string program_page(const RunSummary& summary) {
  HtmlPage page = page_of(report_head(summary.record));
  page.add("answer", "The answer", answer_html(summary));
  page.add("warnings", "Warnings", body_of(warnings_section(summary.record)));
  const Answer answer = answer_of(summary);
  std::vector<Picture> pictures;
  std::vector<const CaseSummary*> others;
  std::string last = answer.main() == nullptr ? "" : answer.main()->definition().metric->name;
  const std::string main = last;
  for (const AnswerRow& row : answer.rows) {
    const ProgramMetric& metric = *row.of->definition().metric;
    if (metric.name == main) continue;
    others.push_back(row.of);
    if (std::exchange(last, metric.name) == metric.name) continue;
    std::ranges::move(metric_pictures(summary.along_axis(metric)), std::back_inserter(pictures));
  }
  page.add("pictures", "Other metrics",
           others.empty()
               ? ""
               : figures(pictures, "metric") +
                     to_html(metrics_table(others, Traffic::elsewhere), "Other metrics"));
  HtmlPage details = page_of(run_details(summary));
  for (HtmlPage::Section& section : details.sections) {
    if (section.id != "warnings") page.sections.push_back(std::move(section));
  }
  page.add("gpus", "GPUs", machine_figure(summary.record.machine, "gpus-picture"));
  return html_text(page);
}

}  // namespace

std::string run_page(const RunSummary& summary) {
  if (summary.is_of_program()) return program_page(summary);
  const Record& record = summary.record;
  const ShownRun run{{}, &summary};
  HtmlPage page = page_of(report_head(record));
  page.add("answer", "The answer", answer_html(summary));
  page.add("bound", "What NVLink could save at most", body_of(nvlink_bound(summary)));
  page.add("warnings", "Warnings", body_of(warnings_section(record)));
  page.add("tuning", "Tuning", body_of(tuning_section(summary)));
  page.add("soak", "Over time", body_of(soak_section(summary)));
  page.add("sizes", "By size", sizes_html(summary, run));
  page.add("headroom", "Headroom, step by step", body_of(headroom_section(summary)));
  page.add("pairs", "Pairs", pairs_html(summary));
  page.add("training", "Training", training_html(summary, run));
  const std::string health = health_html(summary);
  page.add("health", "Health", health.empty() ? health : health + health_pictures(summary));
  page.add("traffic", "NVLink traffic",
           folded("What the links' counters say of each case",
                  body_of(nvlink_traffic_section(summary))));
  page.add("machine", "Machine", machine_html(record, "gpus"));
  page.add("variants", "Variants", body_of(variants_section(record)));
  page.add("repeat", "Repeat it", body_of(repeat_section(record)));
  page.add("words", "Words", kWords);
  return html_text(page);
}

std::string runs_page(std::span<const NamedRecord> records) {
  std::list<RunSummary> summaries;
  std::vector<ShownRun> runs;
  for (const NamedRecord& each : records) {
    runs.push_back({each.name, &summaries.emplace_back(each.record)});
  }
  std::string warnings;
  std::string machines;
  std::string circumstances;
  for (const ShownRun& run : runs) {
    const Record& record = run.summary->record;
    if (const std::string own = body_of(warnings_section(record)); !own.empty()) {
      warnings += fmt::format("<h3>{}</h3>\n{}", xml_escaped(run.name), own);
    }
    machines += fmt::format("<div>\n<h3>{}</h3>\n{}</div>\n", xml_escaped(run.name),
                            machine_html(record, fmt::format("gpus-{}", machines.size())));
    circumstances +=
        fmt::format("<h3>{}</h3>\n{}{}{}", xml_escaped(run.name), health_html(*run.summary),
                    body_of(variants_section(record)), body_of(repeat_section(record)));
  }
  HtmlPage page{.title = fmt::format("linkgain: {} runs", runs.size()),
                .lead = "<p>Each picture shows every run that has such cases.</p>\n"};
  const SizePictures sizes = size_pictures(runs);
  const std::string trainings = figures(training_pictures(runs), "training");
  const bool has_sizes = !sizes.answer.empty();
  page.add("answer", "The answers",
           (has_sizes ? figures(sizes.answer, "answer") : trainings) + runs_table(runs));
  page.add("warnings", "Warnings", warnings);
  page.add("sizes", "By size", sizes.others);
  page.add("training", "Training", has_sizes ? trainings : "");
  page.add("machine", "Machines", side_by_side(machines));
  page.add("repeat", "Variants, and how to repeat it", circumstances);
  page.add("words", "Words", kWords);
  return html_text(page);
}

}  // namespace linkgain
