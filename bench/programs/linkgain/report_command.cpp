#include "report_command.hpp"

#include <fmt/format.h>

#include "linkgain/report/report.hpp"

namespace linkgain {

int report_command(const ReportOptions& options) {
  const Record record = read_record(options.record);
  switch (options.format) {
    case ReportOptions::Format::markdown:
      fmt::print("{}", markdown_report(RunSummary(record)));
      break;
    case ReportOptions::Format::csv:
      fmt::print("{}", csv(RunSummary(record)));
      break;
    case ReportOptions::Format::json:
      fmt::print("{}", to_json_without_samples(record));
      break;
  }
  return 0;
}

}  // namespace linkgain
