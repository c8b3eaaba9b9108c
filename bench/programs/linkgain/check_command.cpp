#include "check_command.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "linkgain/baseline/check_report.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/record/journal.hpp"
#include "named_records.hpp"

namespace linkgain {
namespace {

std::string text_of(const CheckResult& result, OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return check_table(result);
    case OutputFormat::markdown:
      return check_markdown(result);
    case OutputFormat::csv:
      return check_csv(result);
    case OutputFormat::json:
      return to_json(result);
  }
  return {};
}

}  // namespace

int check_command(const CheckOptions& options) {
  const Baseline baseline = read_baseline(options.baseline);
  const CheckResult result =
      check_records(read_named_records(options.records), baseline, options.tolerance);
  if (options.junit) write_file_atomically(*options.junit, check_junit(result));
  if (options.prometheus) write_file_atomically(*options.prometheus, check_prometheus(result));
  fmt::print("{}", text_of(result, options.format));
  return static_cast<int>(exit_code_of(result));
}

}  // namespace linkgain
