#include "linkgain/tables/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

std::string outcome_element(const JunitCase& test) {
  const std::string message = xml_escaped(test.message);
  switch (test.outcome) {
    case JunitOutcome::passed:
      return fmt::format("<system-out>{}</system-out>", message);
    case JunitOutcome::failed:
      return fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>",
                         xml_escaped(test.failure_type), message, message);
    case JunitOutcome::skipped:
      return fmt::format("<skipped message=\"{}\"/>", message);
  }
  return {};
}

}  // namespace

std::string junit_text(const JunitSuite& suite) {
  const auto count = [&](JunitOutcome outcome) {
    return std::ranges::count(suite.cases, outcome, &JunitCase::outcome);
  };
  const std::string counts =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\"", xml_escaped(suite.name),
                  suite.cases.size(), count(JunitOutcome::failed));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n <testsuite {} "
      "skipped=\"{}\">\n"
      "  <properties>\n   <property name=\"subject\" value=\"{}\"/>\n  </properties>\n",
      counts, counts, count(JunitOutcome::skipped), xml_escaped(suite.subject));
  for (const JunitCase& test : suite.cases) {
    text +=
        fmt::format("  <testcase classname=\"{}\" name=\"{}\">\n   {}\n  </testcase>\n",
                    xml_escaped(test.class_name), xml_escaped(test.name), outcome_element(test));
  }
  text += fmt::format("  <system-out>{}</system-out>\n", xml_escaped(suite.summary));
  return text + " </testsuite>\n</testsuites>\n";
}

const FileKind kJunitFile{"a JUnit report", [](std::string_view text) {
                            return text.starts_with(
                                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                "<testsuites name=\"linkgain ");
                          }};

}  // namespace linkgain
