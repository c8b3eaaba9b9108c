#include "linkgain/report/check_markdown.hpp"

#include <fmt/format.h>

#include "check_wording.hpp"
#include "markdown_table.hpp"

namespace linkgain {
namespace {

std::string readable(const std::optional<Seconds>& time) {
  return time ? readable_time(*time) : std::string("–");
}

std::string verdict_cell(const CaseCheck& check) {
  const std::string name(name_of(check.verdict));
  return fails(check.verdict) ? "**" + name + "**" : name;
}

}  // namespace

std::string check_markdown(const CheckResult& result) {
  using enum MarkdownTable::Alignment;
  MarkdownTable table({{"Verdict"},
                       {"Case"},
                       {"Variant"},
                       {"Baseline", right},
                       {"Now", right},
                       {"Shift", right},
                       {"95 % interval", right},
                       {"Tolerance"},
                       {"Note"}});
  bool rows = false;
  for (const CaseCheck* check : worst_first(result)) {
    if (!worth_a_line(*check)) continue;
    rows = true;
    table.add_row({verdict_cell(*check), fmt::format("`{}`", case_name(check->definition)),
                   check->variant, readable(check->reference), readable(check->time),
                   shift_text(check->shift), interval_text(*check),
                   readable_tolerance(check->tolerance), note_text(*check)});
  }
  std::string text = fmt::format("## linkgain check: {}\n\n{}.\n\n{}.\n", outcome(result),
                                 summary_text(result), one_line(subject_text(result)));
  if (rows) text += "\n" + table.text();
  if (!result.warnings.empty()) text += "\n";
  for (const Warning& warning : result.warnings) {
    text += fmt::format("- **{}**: {}{}{}\n", warning.code, one_line(warning.text),
                        warning.advice.empty() ? "" : "; ", one_line(warning.advice));
  }
  return text;
}

}  // namespace linkgain
