#include "linkgain/diagnostics/diagnosis_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "checks.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// How a verdict is shown: the worst first.
struct Look {
  CheckVerdict verdict;
  int rank;
  Tone tone;
};
constexpr std::array kLooks{
    Look{CheckVerdict::ok, 2, Tone::good}, Look{CheckVerdict::warning, 1, Tone::doubtful},
    Look{CheckVerdict::problem, 0, Tone::bad}, Look{CheckVerdict::not_checkable, 3, Tone::plain}};

const Look& look_of(CheckVerdict verdict) {
  return *std::ranges::find(kLooks, verdict, &Look::verdict);
}

bool alike(const Finding& a, Finding b) {
  b.subject = a.subject;
  return a == b;
}

/// Gives 3 for "GPU3", and nothing for pairs and other subjects.
std::optional<int> gpu_number(std::string_view subject) {
  return subject.starts_with("GPU") ? whole_number<int>(subject.substr(3)) : std::nullopt;
}

bool is_pair(std::string_view subject) { return subject.find("-GPU") != std::string_view::npos; }

/// Says "GPU0 to GPU3, GPU5".
std::string ranges_of(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  std::vector<std::string> ranges;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    ranges.push_back(begin == end ? fmt::format("GPU{}", numbers[begin])
                     : begin + 1 == end
                         ? fmt::format("GPU{}, GPU{}", numbers[begin], numbers[end])
                         : fmt::format("GPU{} to GPU{}", numbers[begin], numbers[end]));
    begin = end + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

using Title = Named<CheckGroup>;
constexpr std::array kTitles{
    Title{CheckGroup::gpus, "GPUs"},       Title{CheckGroup::power, "Power"},
    Title{CheckGroup::cooling, "Cooling"}, Title{CheckGroup::connectivity, "Connectivity"},
    Title{CheckGroup::host, "Host"},       Title{CheckGroup::software, "Software"}};

/// Says "problem: p2p, GPU0-GPU1: NV4, reads refused", the verdict in its colour.
Text sentence_of(const DiagnosisRow& row) {
  const Finding& finding = row.finding;
  const Text::Run verdict{fmt::format("{}:", name_of(finding.verdict)), Text::Form::strong,
                          look_of(finding.verdict).tone};
  return Text(verdict) +
         with_code(fmt::format(" {}, {}: {}", finding.id, readable_subjects(row.subjects),
                               finding.value.text()));
}

void add_group(const std::vector<DiagnosisRow>& rows, std::string_view title, Document& document) {
  Document::List list;
  for (const DiagnosisRow& row : rows) {
    const Finding& finding = row.finding;
    if (finding.verdict == CheckVerdict::ok) continue;
    Document::Item& item = list.items.emplace_back(Document::Item{sentence_of(row)});
    if (!finding.why.empty()) item.below.push_back(with_code("why: " + finding.why));
    if (!finding.advice.empty()) item.below.push_back(with_code("do: " + finding.advice));
  }
  if (list.items.empty()) return;
  document.heading(title);
  for (const Document::Item& item : list.items) document.item(item);
}

void add_ok(const std::vector<DiagnosisRow>& rows,
            const std::function<bool(const std::string&)>& shows_ok, Table& table) {
  for (const DiagnosisRow& row : rows) {
    if (row.finding.verdict != CheckVerdict::ok || !shows_ok(row.finding.id)) continue;
    table.add_row({row.finding.id, readable_subjects(row.subjects), row.finding.value.text()});
  }
}

/// Says "nvlink-links (GPU0, GPU1)", "process-ids" of the host.
std::string short_name(const DiagnosisRow& row) {
  const std::string subjects = readable_subjects(row.subjects);
  return subjects == kHost ? row.finding.id : fmt::format("{} ({})", row.finding.id, subjects);
}

/// Names the warnings in one item.
void name_warnings(const std::vector<DiagnosisRow>& rows, Document& summary) {
  std::vector<std::string> warnings;
  for (const DiagnosisRow& row : rows) {
    if (row.finding.verdict == CheckVerdict::warning) warnings.push_back(short_name(row));
  }
  if (warnings.empty()) return;
  const Text::Run verdict{warnings.size() == 1 ? "warning:" : "warnings:", Text::Form::strong,
                          look_of(CheckVerdict::warning).tone};
  summary.item(Text(verdict) + fmt::format(" {}", fmt::join(warnings, ", ")));
}

/// Lists the problems as they stand among the others.
void repeat_problems(const std::vector<DiagnosisRow>& rows, Document& summary) {
  for (const DiagnosisRow& row : rows) {
    if (row.finding.verdict == CheckVerdict::problem) summary.item(sentence_of(row));
  }
}

/// Counts the rows by verdict, names the warnings and repeats the problems; these stand where a
/// reader looks first: on a page before the warnings, on a terminal at the end. `shown`: of those
/// that are ok.
Document summary_of(const Diagnosis& diagnosis, const std::vector<DiagnosisRow>& rows,
                    std::ptrdiff_t shown, const std::optional<std::string>& picture_of_page) {
  const auto count = [&](CheckVerdict verdict) {
    return std::ranges::count_if(
        rows, [&](const DiagnosisRow& row) { return row.finding.verdict == verdict; });
  };
  const auto problems = count(CheckVerdict::problem);
  const auto warnings = count(CheckVerdict::warning);
  const auto ok = count(CheckVerdict::ok);
  const bool is_page = picture_of_page.has_value();
  Document summary;
  summary.paragraph(fmt::format(
      "{}, {}, {} ok{}, {} not checkable{}", counted(problems, "problem", "problems"),
      counted(warnings, "warning", "warnings"), ok,
      ok > shown && !is_page ? " (shown with --verbose)" : "", count(CheckVerdict::not_checkable),
      problems + warnings == 0 || is_page ? "" : ":"));
  if (is_page && !picture_of_page->empty()) summary.figure(*picture_of_page);
  if (is_page) repeat_problems(rows, summary);
  name_warnings(rows, summary);
  if (!is_page) repeat_problems(rows, summary);
  if (exit_code_of(diagnosis) == ExitCode::machine_cannot) {
    summary.paragraph(ok + warnings > 0 ? "No GPU could be checked." : "Nothing could be checked.");
  }
  return summary;
}

}  // namespace

std::vector<DiagnosisRow> diagnosis_rows(const Diagnosis& diagnosis, CheckGroup group) {
  std::vector<DiagnosisRow> rows;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.group != group) continue;
    const auto row = std::ranges::find_if(
        rows, [&](const DiagnosisRow& each) { return alike(each.finding, finding); });
    if (row == rows.end()) {
      rows.push_back({finding, {finding.subject}});
    } else {
      row->subjects.push_back(finding.subject);
    }
  }
  std::ranges::stable_sort(
      rows, {}, [](const DiagnosisRow& row) { return look_of(row.finding.verdict).rank; });
  return rows;
}

std::string readable_subjects(const std::vector<std::string>& subjects) {
  std::vector<int> numbers;
  for (const std::string& subject : subjects) {
    if (const auto number = gpu_number(subject)) numbers.push_back(*number);
  }
  if (numbers.size() == subjects.size()) return ranges_of(numbers);
  constexpr std::size_t kNamed = 3;
  if (subjects.size() > kNamed && std::ranges::all_of(subjects, is_pair)) {
    return fmt::format("{} pairs", subjects.size());
  }
  return fmt::format("{}", fmt::join(subjects, ", "));
}

Document diagnosis_report(const Diagnosis& diagnosis,
                          const std::function<bool(const std::string& id)>& shows_ok,
                          const std::optional<std::string>& picture_of_page) {
  Document groups;
  Table ok({{"Check"}, {"Subject"}, {"Found", {}, false, 0, Table::TooLong::below}});
  std::vector<DiagnosisRow> all;
  for (const auto& [group, title] : kTitles) {
    const std::vector<DiagnosisRow> rows = diagnosis_rows(diagnosis, group);
    add_group(rows, title, groups);
    add_ok(rows, shows_ok, ok);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  const auto shown = std::ssize(ok.rows());
  if (shown > 0) {
    groups.heading("What is ok");
    groups.table(std::move(ok));
  }
  const Document summary = summary_of(diagnosis, all, shown, picture_of_page);
  Document document;
  if (picture_of_page) document.add(summary);
  document.add(document_of(diagnosis.links));
  document.paragraph(fmt::format("{}, {}", diagnosis.host, diagnosis.checked));
  document.add(groups);
  if (picture_of_page) return document;
  document.heading("Summary");
  document.add(summary);
  return document;
}

}  // namespace linkgain
