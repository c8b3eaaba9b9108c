#include "linkgain/baseline/check_markdown.hpp"

#include <fmt/format.h>

#include "check_rows.hpp"
#include "check_wording.hpp"

namespace linkgain {

std::string check_markdown(const CheckResult& result) {
  StyledText text(TableStyle::markdown);
  text.heading("linkgain check: " + outcome(result));
  text.paragraph(summary_text(result) + ".");
  text.paragraph(subject_text(result) + ".");
  add_check_rows(text, result, TableStyle::markdown);
  for (const Warning& warning : result.warnings) {
    text.item(fmt::format("**{}**: {}{}{}", warning.code, warning.text,
                          warning.advice.empty() ? "" : "; ", warning.advice));
  }
  return text.text();
}

}  // namespace linkgain
