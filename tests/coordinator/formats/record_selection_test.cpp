#include "linkgain/formats/record_selection.hpp"

#include <gtest/gtest.h>

#include "linkgain/formats/google_benchmark_json.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(RecordSelection, RefusesWhatTheRecordHasNot) {
  Situations refusals;
  const Record record = h200_record();
  refusals.refuse("another variant", [&] { google_benchmark_json(record, {"tcp", {}}); });
  refusals.refuse("another operation", [&] {
    google_benchmark_json(record, {"", {OperationKind::reduce}});
  });
  Record empty = record;
  empty.settings.variants.clear();
  refusals.refuse("no variant", [&] { google_benchmark_json(empty, {}); });
  empty = record;
  empty.cases.clear();
  refusals.refuse("no case", [&] { google_benchmark_json(empty, {}); });
  Record program = record;
  program.settings.program.emplace();
  refusals.refuse("a run of exec", [&] { google_benchmark_json(program, {}); });
  refusals.expect_golden("selections_refused.txt");
}

}  // namespace
}  // namespace linkgain::test
