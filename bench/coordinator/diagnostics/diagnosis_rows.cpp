#include "diagnosis_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

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

}  // namespace linkgain
