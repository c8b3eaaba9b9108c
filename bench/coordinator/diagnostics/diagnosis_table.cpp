#include "linkgain/diagnostics/diagnosis_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "linkgain/base/units.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

int rank_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::problem:
      return 0;
    case CheckVerdict::warning:
      return 1;
    case CheckVerdict::ok:
      return 2;
    case CheckVerdict::not_checkable:
      return 3;
  }
  return 4;
}

bool alike(const Finding& a, Finding b) {
  b.subject = a.subject;
  return a == b;
}

/// 3 for "GPU3"; absent for pairs and other subjects.
std::optional<int> gpu_number(std::string_view subject) {
  if (!subject.starts_with("GPU")) return std::nullopt;
  int number = 0;
  const char* end = subject.data() + subject.size();
  const auto [stop, error] = std::from_chars(subject.data() + 3, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_pair(std::string_view subject) { return subject.find("-GPU") != std::string_view::npos; }

/// "GPU0-GPU3, GPU5"
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
  std::ranges::stable_sort(rows, {},
                           [](const DiagnosisRow& row) { return rank_of(row.finding.verdict); });
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

namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kVerdictWidth = std::string_view("not checkable").size();
constexpr std::size_t kIndent = kVerdictWidth + 4;
constexpr std::size_t kWidestSubject = 24;

constexpr std::array kGroups{CheckGroup::gpus,         CheckGroup::power, CheckGroup::cooling,
                             CheckGroup::connectivity, CheckGroup::host,  CheckGroup::software};

std::string_view title_of(CheckGroup group) {
  switch (group) {
    case CheckGroup::gpus:
      return "GPUs";
    case CheckGroup::power:
      return "Power";
    case CheckGroup::cooling:
      return "Cooling";
    case CheckGroup::connectivity:
      return "Connectivity";
    case CheckGroup::host:
      return "Host";
    case CheckGroup::software:
      return "Software";
  }
  return "?";
}

std::string_view color_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::ok:
      return "\033[32m";
    case CheckVerdict::warning:
      return "\033[33m";
    case CheckVerdict::problem:
      return "\033[1;31m";
    case CheckVerdict::not_checkable:
      return "\033[2m";
  }
  return "";
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

/// Padded outside of the colour, so that columns line up either way.
std::string verdict_cell(CheckVerdict verdict, bool color) {
  const std::string_view name = name_of(verdict);
  const std::string padding = blanks(kVerdictWidth - name.size());
  if (!color) return fmt::format("{}{}", name, padding);
  return fmt::format("{}{}\033[0m{}", color_of(verdict), name, padding);
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return text + blanks(width > taken ? width - taken : 0);
}

/// Widths of the columns of check and subject, the same in all sections.
struct Widths {
  std::size_t check = 0;
  std::size_t subject = 0;
};

using Section = std::pair<CheckGroup, std::vector<DiagnosisRow>>;

Widths widths_of(const std::vector<Section>& sections) {
  Widths widths;
  for (const auto& [group, rows] : sections) {
    for (const DiagnosisRow& row : rows) {
      widths.check = std::max(widths.check, row.finding.id.size());
      const std::size_t subject = readable_subjects(row.subjects).size();
      widths.subject = std::max(widths.subject, std::min(subject, kWidestSubject));
    }
  }
  return widths;
}

/// What one line of a table has room for.
std::size_t line_width(const DiagnosisStyle& style) { return std::min(style.width, kLineWidth); }

/// Below this a value has a line of its own.
constexpr std::size_t kNarrowestValue = 26;
constexpr std::size_t kNarrowIndent = 4;

std::string row_text(const DiagnosisRow& row, const Widths& widths, const DiagnosisStyle& style) {
  const Finding& finding = row.finding;
  const std::size_t width = line_width(style);
  const std::string place = fmt::format("{}  {}", padded(finding.id, widths.check),
                                        padded(readable_subjects(row.subjects), widths.subject));
  const std::size_t value_at = kIndent + display_width(place) + 2;
  const bool narrow = value_at + kNarrowestValue > width;
  const std::size_t indent = narrow ? kNarrowIndent : kIndent;
  std::string text = fmt::format("  {}  {}", verdict_cell(finding.verdict, style.color), place);
  if (!narrow) {
    text += fmt::format(
        "  {}", fmt::join(wrapped(finding.value, width - value_at), "\n" + blanks(value_at)));
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n";
  const auto add = [&](const char* lead, const std::string& more) {
    if (!more.empty()) text += hanging(blanks(indent) + lead, more, width);
  };
  if (narrow) add("", finding.value);
  add("why: ", finding.why);
  add("do:  ", finding.advice);
  return text;
}

std::string summary(const std::vector<Section>& sections, const DiagnosisStyle& style) {
  const auto count = [&](CheckVerdict verdict) {
    std::int64_t sum = 0;
    for (const auto& [group, rows] : sections) {
      for (const DiagnosisRow& row : rows) sum += row.finding.verdict == verdict ? 1 : 0;
    }
    return sum;
  };
  const std::int64_t ok = count(CheckVerdict::ok);
  return hanging("",
                 fmt::format("{}, {}, {} ok{}, {} not checkable",
                             counted(count(CheckVerdict::problem), "problem", "problems"),
                             counted(count(CheckVerdict::warning), "warning", "warnings"), ok,
                             ok > 0 && !style.verbose ? " (shown with --verbose)" : "",
                             count(CheckVerdict::not_checkable)),
                 line_width(style));
}

/// Problems, and links that are not active where that need not be one: a bridge may be missing.
bool is_told_again(const Finding& finding) {
  return finding.verdict == CheckVerdict::problem ||
         (finding.verdict == CheckVerdict::warning && finding.id == "nvlink-links");
}

/// "  problem: p2p, GPU0-GPU1: NV4, reads refused"
std::string told_again(const std::vector<Section>& sections, const DiagnosisStyle& style) {
  std::string text;
  for (const auto& [group, rows] : sections) {
    for (const DiagnosisRow& row : rows) {
      const CheckVerdict verdict = row.finding.verdict;
      if (!is_told_again(row.finding)) continue;
      std::string line = hanging(fmt::format("  {}: ", name_of(verdict)),
                                 fmt::format("{}, {}: {}", row.finding.id,
                                             readable_subjects(row.subjects), row.finding.value),
                                 line_width(style));
      if (style.color) {
        const auto word = name_of(verdict).size();
        line = fmt::format("  {}{}\033[0m{}", color_of(verdict), line.substr(2, word),
                           line.substr(2 + word));
      }
      text += line;
    }
  }
  return text;
}

bool is_shown(const DiagnosisRow& row, const DiagnosisStyle& style) {
  return style.verbose || row.finding.verdict != CheckVerdict::ok;
}

}  // namespace

std::string diagnosis_table(const Diagnosis& diagnosis, const DiagnosisStyle& style) {
  std::vector<Section> all;
  std::vector<Section> shown;
  for (const CheckGroup group : kGroups) {
    std::vector<DiagnosisRow> rows = diagnosis_rows(diagnosis, group);
    all.emplace_back(group, rows);
    std::erase_if(rows, [&](const DiagnosisRow& row) { return !is_shown(row, style); });
    if (!rows.empty()) shown.emplace_back(group, std::move(rows));
  }
  const Widths widths = widths_of(shown);
  std::string text = text_of(diagnosis.links, line_width(style));
  text += fmt::format("\n{}, {}\n", diagnosis.host, diagnosis.checked);
  for (const auto& [group, rows] : shown) {
    text += fmt::format("\n{}\n", title_of(group));
    for (const DiagnosisRow& row : rows) text += row_text(row, widths, style);
  }
  return text + "\n" + summary(all, style) + told_again(all, style);
}

}  // namespace linkgain
