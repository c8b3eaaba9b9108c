#include "linkgain/baseline/check_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check_rows.hpp"
#include "check_wording.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

bool shows_headline(const CheckResult& result) {
  return std::any_of(result.cases.begin(), result.cases.end(),
                     [](const CaseCheck& check) { return check.headline && worth_a_line(check); });
}

std::string warning_lines(const Warning& warning) {
  const std::string lines = hanging("warning: ", one_line(warning.text));
  return warning.advice.empty() ? lines : lines + hanging("         ", one_line(warning.advice));
}

}  // namespace

std::string check_table(const CheckResult& result) {
  StyledText table(TableStyle::text);
  table.paragraph(subject_text(result));
  add_check_rows(table, result, TableStyle::text);
  if (shows_headline(result)) table.paragraph("* of its operation's largest size");
  std::string text = table.text();
  if (!result.warnings.empty()) text += "\n";
  for (const Warning& warning : result.warnings) text += warning_lines(warning);
  return text + "\n" + hanging("", summary_text(result));
}

}  // namespace linkgain
