#include "linkgain/report/check_annotations.hpp"

#include <fmt/format.h>

#include "check_wording.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

std::string_view level_of(const CaseCheck& check) {
  if (fails(check.verdict)) return "error";
  return is_open(check.verdict) ? "warning" : "notice";
}

}  // namespace

std::string check_annotations(const CheckResult& result) {
  std::string text;
  for (const CaseCheck* check : worst_first(result)) {
    if (!worth_a_line(*check)) continue;
    text += fmt::format("::{} title={}::{}\n", level_of(*check),
                        annotation_property_escaped("linkgain: " + title(*check)),
                        annotation_escaped(sentence(*check)));
  }
  return text;
}

}  // namespace linkgain
