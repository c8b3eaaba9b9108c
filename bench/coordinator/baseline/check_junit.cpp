#include "linkgain/baseline/check_junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check_wording.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

bool is_skipped(const CaseCheck& check) {
  return is_open(check.verdict) || check.verdict == RegressionVerdict::added;
}

/// "\n   <failure ...>" or the like; empty where all is well.
std::string outcome_element(const CaseCheck& check) {
  const std::string text = xml_escaped(sentence(check));
  if (fails(check.verdict)) {
    return fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>", name_of(check.verdict),
                       text, text);
  }
  if (is_skipped(check)) return fmt::format("<skipped message=\"{}\"/>", text);
  return fmt::format("<system-out>{}</system-out>", text);
}

std::string test_case(const CaseCheck& check) {
  return fmt::format("  <testcase classname=\"linkgain.{}\" name=\"{}\">\n   {}\n  </testcase>\n",
                     xml_escaped(check.variant), xml_escaped(case_name(check.definition)),
                     outcome_element(check));
}

template <typename Condition>
std::ptrdiff_t count_where(const CheckResult& result, Condition condition) {
  return std::count_if(result.cases.begin(), result.cases.end(), condition);
}

}  // namespace

std::string check_junit(const CheckResult& result) {
  const std::string counts = fmt::format(
      "name=\"linkgain check\" tests=\"{}\" failures=\"{}\" errors=\"0\"", result.cases.size(),
      count_where(result, [](const CaseCheck& check) { return fails(check.verdict); }));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n <testsuite {} "
      "skipped=\"{}\">\n"
      "  <properties>\n   <property name=\"subject\" value=\"{}\"/>\n  </properties>\n",
      counts, counts, count_where(result, is_skipped), xml_escaped(subject_text(result)));
  for (const CaseCheck& check : result.cases) text += test_case(check);
  text += fmt::format("  <system-out>{}</system-out>\n", xml_escaped(summary_text(result)));
  return text + " </testsuite>\n</testsuites>\n";
}

}  // namespace linkgain
