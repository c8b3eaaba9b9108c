#include "linkgain/report/check_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check_wording.hpp"
#include "markdown_table.hpp"
#include "text_table.hpp"

namespace linkgain {
namespace {

std::string readable(const std::optional<Seconds>& time) {
  return time ? readable_time(*time) : std::string("-");
}

void add_row(TextTable& table, const CaseCheck& check) {
  table.add_row({fmt::format("{}{}", name_of(check.verdict), check.headline ? " *" : ""),
                 case_name(check.definition), check.variant, readable(check.reference),
                 readable(check.time), shift_text(check.shift), interval_text(check),
                 readable_tolerance(check.tolerance), note_text(check)});
}

}  // namespace

std::string check_table(const CheckResult& result) {
  using enum TextTable::Alignment;
  TextTable table({{"Verdict"},
                   {"Case"},
                   {"Variant"},
                   {"Baseline", right},
                   {"Now", right},
                   {"Shift", right},
                   {"95 % interval", right},
                   {"Tolerance"},
                   {"Note"}});
  bool rows = false;
  bool headline = false;
  for (const CaseCheck* check : worst_first(result)) {
    if (!worth_a_line(*check)) continue;
    add_row(table, *check);
    rows = true;
    headline = headline || check->headline;
  }
  std::string text = one_line(subject_text(result)) + "\n\n";
  if (rows) text += table.text() + "\n";
  if (headline) text += "* of its operation's largest size\n\n";
  for (const Warning& warning : result.warnings) {
    text += fmt::format("warning: {}\n", one_line(warning.text));
    if (!warning.advice.empty()) text += fmt::format("         {}\n", one_line(warning.advice));
  }
  if (!result.warnings.empty()) text += "\n";
  return text + summary_text(result) + "\n";
}

}  // namespace linkgain
