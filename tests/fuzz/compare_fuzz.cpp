// A side of `compare`: a record, a journal, JSON of Google Benchmark or of nccl-tests; compared
// with itself.
#include "fuzz_target.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/compare/run_reader.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const RunFigures run = parse_run(text, "input");
  const std::vector<RunComparison> comparisons{compare_runs(run, run, {})};
  comparison_report(comparisons, Metric::busbw, TableStyle::text);
  comparison_report(comparisons, Metric::time, TableStyle::markdown);
  comparison_csv(comparisons);
  to_json(comparisons);
}

}  // namespace
}  // namespace linkgain

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return linkgain::fuzz::run(data, size, linkgain::read);
}
