// A side of `compare`: a record, a journal or JSON of nccl-tests; compared with itself.
#include "fuzz_target.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/compare/run_reader.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const RunFigures run = parse_run(text, "input");
  const RunComparison comparison = compare_runs(run, run, {});
  to_terminal(comparison_report(comparison, Metric::busbw));
  to_markdown(comparison_report(comparison, Metric::time));
  comparison_csv(comparison);
  to_json(comparison);
}

}  // namespace
}  // namespace linkgain
