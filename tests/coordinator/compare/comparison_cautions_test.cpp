#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compared_runs.hpp"
#include "comparison_parts.hpp"
#include "linkgain/record/warning.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kAllToAll = "alltoall/float32/1MiB/np2";

CaseFigures around(const std::string& name, double seconds) {
  return timed(name, "p2p", launches_around(seconds, 0.01, 8));
}

RunFigures run_of(const std::string& name, const CaseFigures& figures) {
  RunFigures run = two_titans(name, true);
  run.cases = {figures};
  return run;
}

RunFigures on_path(const std::string& name, Path path) {
  CaseFigures figures = around(kLarge, 1.0);
  figures.path = path;
  return run_of(name, figures);
}

RunFigures grouped(const std::string& name, std::optional<bool> grouped) {
  CaseFigures figures = around(kAllToAll, 1.0);
  figures.grouped = grouped;
  return run_of(name, figures);
}

RunFigures of_source(const std::string& name, RunSource source,
                     const std::string& case_name = kLarge) {
  RunFigures run = run_of(name, around(case_name, 1.0));
  run.source = source;
  return run;
}

std::vector<std::string> codes(const RunFigures& before, const RunFigures& after) {
  std::vector<std::string> all;
  for (const Warning& each : cautions_of(compare_runs(before, after, {}))) all.push_back(each.code);
  return all;
}

TEST(ComparisonCautions, AreNotOfWhatIsAlike) {
  EXPECT_THAT(codes(on_path("a", Path::nvlink), on_path("b", Path::nvlink)), IsEmpty());
  EXPECT_THAT(codes(grouped("a", false), grouped("b", false)), IsEmpty());
  EXPECT_THAT(codes(grouped("a", true), grouped("b", std::nullopt)), IsEmpty());
  const RunFigures own = of_source("own", RunSource::record);
  EXPECT_THAT(codes(of_source("a", RunSource::record), own), IsEmpty());
  const std::string symmetric = kLarge + std::string("/symmetric");
  EXPECT_THAT(codes(of_source("a", RunSource::nccl_tests, symmetric),
                    of_source("own", RunSource::record, symmetric)),
              Not(Contains("other-buffers")));
}

TEST(ComparisonCautions, AreNotOfCasesThatOneRunLacks) {
  RunFigures more = run_of("more.json", around(kLarge, 1.2));
  RunFigures other = run_of("more.json", around("all_reduce/float32/sum/8B/np2", 1.0));
  CaseFigures& own = more.cases.emplace_back(std::move(other.cases.front()));
  own.disturbance = {.samples = 12, .level_change = 1.25};
  own.health.samples = own.health.unhealthy_samples = 3;
  EXPECT_THAT(codes(on_path("a", Path::unknown), more), IsEmpty());
  EXPECT_THAT(codes(more, more), Contains("level-change"));
}

TEST(ComparisonCautions, AreOfEveryPathThatARunCallsWrong) {
  RunFigures astray = run_of("b", around(kLarge, 1.0));
  for (const WarningCode code : {WarningCode::exec_path, WarningCode::wrong_path}) {
    astray.warnings = {warning_of(code, "2 GB over NVLink")};
    const std::vector<Warning> said =
        cautions_of(compare_runs(on_path("a", Path::unknown), astray, {}));
    EXPECT_THAT(said, ElementsAre(AllOf(Field(&Warning::code, name_of(code)),
                                        Field(&Warning::text, "in b 2 GB over NVLink"))));
  }
}

TEST(ComparisonCautions, NameTheLaunchModeAsEachProgramDoes) {
  const std::string name = "all_reduce/float32/sum/8B/np2";
  const RunFigures tests = of_source("perf.json", RunSource::nccl_tests, name);
  const RunFigures own = of_source("own.json", RunSource::record, name + "/graph");
  const std::vector<Warning> said = cautions_of(compare_runs(tests, own, {}));
  EXPECT_THAT(said, Contains(AllOf(Field(&Warning::code, name_of(WarningCode::other_launch)),
                                   Field(&Warning::advice, HasSubstr("perf.json with -G 0")),
                                   Field(&Warning::advice, HasSubstr("--launch-mode stream")))));
}

TEST(ComparisonCautions, SayWhatElseMayExplainADifference) {
  Situations cautions;
  const auto add = [&](const std::string& situation, const RunFigures& before,
                       const RunFigures& after) {
    std::string said;
    for (const Warning& each : cautions_of(compare_runs(before, after, {}))) {
      said += each.code + ": " + each.text + "\nAdvice: " + each.advice + "\n";
    }
    cautions.add(situation, said);
  };
  add("bytes took another path", on_path("a", Path::nvlink), on_path("b", Path::host_memory));
  add("a call was a group of calls", grouped("a", true), grouped("b", false));
  add("NCCL allocated one side's buffers", of_source("perf.json", RunSource::nccl_tests),
      of_source("record.json", RunSource::record));
  const RunFigures one = run_of("one.json", timed(kLarge, "p2p", {1.0}));
  const RunFigures many = run_of("many.json", timed(kLarge, "p2p", {1.0, 1.01, 0.99}));
  add("one launch on both sides", one, one);
  add("one launch on one side", many, one);
  RunFigures other = run_of("b", around(kLarge, 1.0));
  other.machine.software.driver = "590.2";
  other.machine.software.nccl_library = "2.29.1";
  other.settings.environment_in_force[0]["NCCL_ALGO"] = "Ring";
  other.status = RunStatus::job_lost;
  HealthSummary& health = other.cases[0].health;
  health.clock_event_reasons = 0x40;
  health.samples = 20;
  health.unhealthy_samples = 3;
  add("incomplete, throttled, other software and variables", on_path("a", Path::nvlink), other);
  RunFigures slower_host = two_titans("b", true);
  slower_host.machine.ranks[0].host_copy->from_gpu_gb_per_s = 25.0;
  slower_host.machine.ranks[1].gpu->pcie_width = 8;
  RunFigures disturbed = run_of("busy.json", around(kLarge, 1.2));
  disturbed.cases[0].disturbance = {.samples = 12, .level_change = 1.25};
  disturbed.neighbours.emplace().seen = {
      {.gpu = 0, .busy_percent = 97.0, .processes = {{4711, "python3"}}}};
  disturbed.link_errors = LinkErrors{2, {{{0, ErrorKind::nvlink_outages, 3, 1}, 0, 1}}, {}};
  disturbed.warnings = {{"host-load", "processes waited", "end it"}, {"left-out", "4 GiB", ""}};
  add("others' work, and an NVLink that was lost", on_path("a", Path::unknown), disturbed);
  add("other host copies", two_titans("a", false), slower_host);
  add("other ranks", many, run_of("c", around("all_reduce/float32/sum/1GiB/np4", 1.0)));
  const RunFigures by_stream = run_of("old.json", around("all_reduce/float32/sum/8B/np2", 1.0));
  const RunFigures by_graph =
      run_of("new.json", around("all_reduce/float32/sum/8B/np2/graph", 1.0));
  add("by stream before, by graph after", by_stream, by_graph);
  add("by graph before, by stream after", by_graph, by_stream);
  RunFigures rewired = run_of("b", around(kLarge, 1.0));
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NTHREADS", "NCCL_BUFFSIZE"}) {
    rewired.settings.environment_in_force[0][name] = "1";
  }
  add("four variables", on_path("a", Path::unknown), rewired);
  RunFigures in_memory = one;
  in_memory.settings.backend = BackendKind::mpi;
  add("one launch each in CPU memory", in_memory, in_memory);
  RunFigures original = many;
  original.identity = "f00d";
  RunFigures copy = original;
  copy.name = "copy.json";
  add("a record and its copy", original, copy);
  expect_golden(cautions.text(), "cautions.txt");
}

}  // namespace
}  // namespace linkgain::test
