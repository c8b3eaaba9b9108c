#include "baseline_command.hpp"

#include <fmt/format.h>

#include "linkgain/baseline/baseline.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/telemetry/host.hpp"
#include "named_records.hpp"

namespace linkgain {

int baseline_command(const BaselineOptions& options) {
  const Baseline baseline =
      make_baseline(read_named_records(options.records), options.tolerance, utc_now(false));
  const std::string document = to_json(baseline);
  if (options.output) write_file_atomically(*options.output, document);
  fmt::print("{}", options.json ? document : baseline_summary(baseline));
  if (options.output && !options.json) fmt::print("baseline: {}\n", options.output->string());
  return 0;
}

}  // namespace linkgain
