#include <sys/resource.h>

#include <csignal>

#include "harmed_run.hpp"
#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// What a run finds in its folder, and what it leaves there, as other commands see it.

class RunFolder : public MpiTest {
 protected:
  std::filesystem::path out() const { return folder_ / "out"; }

  Outcome run_to_end(const std::string& size) const {
    return run_program(run_request(
        folder_, {"--only", "all_reduce", "--sizes", size, "--ci-width", "0.5", "--budget", "60"}));
  }

  /// Kills a run once it has measured a case of 512 KiB: a budget takes the largest first.
  void run_and_kill() const {
    Program program(run_request(folder_, {"--only", "all_reduce", "--sizes", "128K,256K,512K",
                                          "--ci-width", "0.0001", "--budget", "60"}));
    ASSERT_TRUE(comes_to_say(program, "[  1/")) << program.error();
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish(10.0).status, 128 + SIGKILL);
  }

  Outcome linkgain_on(const Words& arguments) const { return run_linkgain(folder_, arguments); }

  /// Expects readers of the folder to see the run that was killed, not the one before.
  void expect_readers_of_the_killed_run() const {
    const Outcome report = linkgain_on({"report", "out"});
    EXPECT_EQ(report.status, 0) << report.error;
    EXPECT_THAT(report.output,
                AllOf(HasSubstr("512 KiB"), HasSubstr("unfinished"), Not(HasSubstr("64 KiB |"))));
    const Outcome check = linkgain_on({"check", "out", "--baseline", "baseline.json"});
    EXPECT_NE(check.status, 0) << "a case of the baseline was not measured";
    EXPECT_THAT(check.output + check.error, HasSubstr("unfinished"));
    const Outcome comparison = linkgain_on({"compare", "earlier.json", "out"});
    EXPECT_EQ(comparison.status, 7) << "no case in common; " << comparison.error;
    EXPECT_THAT(comparison.output, HasSubstr("incomplete"));
    const Outcome baseline = linkgain_on({"baseline", "out", "--json"});
    EXPECT_THAT(baseline.output + baseline.error, HasSubstr("incomplete"));
    const Outcome fleet = linkgain_on({"fleet", "out", "--json"});
    EXPECT_THAT(fleet.output, AllOf(HasSubstr("journal.jsonl"), HasSubstr("incomplete")))
        << fleet.error;
  }

  ScratchFolder folder_;
};

TEST_F(RunFolder, OfAKilledRunHasNoRecordOfAnEarlierOne) {
  ASSERT_EQ(run_to_end("64K").status, 0);
  std::filesystem::copy_file(out() / "record.json", folder_ / "earlier.json");
  ASSERT_EQ(linkgain_on({"baseline", "out", "--output", "baseline.json"}).status, 0);
  const std::string earlier = read_text(out() / "record.json");
  run_and_kill();
  EXPECT_FALSE(std::filesystem::exists(out() / "record.json"));
  EXPECT_FALSE(std::filesystem::exists(out() / "report.md"));
  EXPECT_EQ(read_text(out() / "record.json.old"), earlier);
  EXPECT_THAT(read_text(out() / "report.md.old"), HasSubstr("64 KiB"));
  EXPECT_THAT(read_text(out() / "run.log"), Not(HasSubstr("64KiB")));
  expect_readers_of_the_killed_run();
  // As a linkgain left it that did not set records aside.
  std::filesystem::rename(out() / "record.json.old", out() / "record.json");
  expect_readers_of_the_killed_run();
  std::filesystem::rename(out() / "record.json", out() / "record.json.old");
  ASSERT_EQ(run_to_end("64K").status, 0);
  EXPECT_TRUE(std::filesystem::exists(out() / "journal.jsonl.old"));
  EXPECT_THAT(linkgain_on({"report", "out"}).output, Not(HasSubstr("unfinished")));
}

TEST_F(RunFolder, IsOneRunsAtATime) {
  Program first(run_request(folder_, {"--only", "all_reduce", "--sizes", "128K,256K,512K",
                                      "--ci-width", "0.0001", "--budget", "6"}));
  ASSERT_TRUE(comes_to_say(first, "[  1/"));
  const Outcome second = with_status(2, run_to_end("64K"));
  EXPECT_THAT(second.error, AllOf(HasSubstr("process " + std::to_string(first.id()) + " on "),
                                  HasSubstr("--out")));
  EXPECT_EQ(linkgain_on({"exec", "--out", "out", "--", "true"}).status, 2);
  with_status(0, first.finish(60.0));
  EXPECT_THAT(read_text(out() / "report.md"), HasSubstr("512 KiB"));
  EXPECT_FALSE(std::filesystem::exists(out() / "record.json.old"));
}

TEST_F(RunFolder, OfARunThatCouldNotStartHasNoRecordOfAnEarlierOne) {
  ASSERT_EQ(run_to_end("64K").status, 0);
  ProgramRequest request = run_request(folder_, {"--only", "all_reduce", "--sizes", "64K"});
  request.environment["PATH"] = "/nowhere";
  EXPECT_EQ(run_program(request).status, 3);
  EXPECT_FALSE(std::filesystem::exists(out() / "record.json"));
  EXPECT_TRUE(std::filesystem::exists(out() / "record.json.old"));
}

class LostFolder : public HarmedRun {};

TEST_F(LostFolder, ThatIsRemovedEndsTheRunWithTheTables) {
  const auto temporary = folder_ / "temporary";
  std::filesystem::create_directory(temporary);
  ProgramRequest request = run_request(folder_, long_run({}));
  request.environment["TMPDIR"] = temporary.string();
  Program program(request);
  ASSERT_TRUE(comes_to_say(program, "[  1/"));
  std::filesystem::remove_all(folder_ / "out");
  const Outcome outcome = with_status(6, program.finish(90.0));
  EXPECT_THAT(outcome.output, HasSubstr("all_reduce"));
  EXPECT_THAT(outcome.output + outcome.error, HasSubstr(temporary.string() + "/"));
  int records = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temporary)) {
    if (!entry.is_regular_file()) continue;
    ++records;
    EXPECT_EQ(Json::parse(read_text(entry.path())).at("exit_code"), 6);
    EXPECT_EQ(run_linkgain(folder_, {"report", entry.path().string()}).status, 0);
    const std::string name = "temporary/" + entry.path().filename().string();
    EXPECT_THAT(outcome.output, HasSubstr("linkgain report " + name + "\n"));
  }
  EXPECT_EQ(records, 1);
}

TEST_F(LostFolder, WhereAReportCannotBeWrittenHasARecordThatSaysSo) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [&](const Program&) {
        std::filesystem::create_directories(folder_ / "out" / "report.md" / "full");
      },
      90.0);
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("exit_code"), 6);
  EXPECT_EQ(record.at("warnings").back().at("code"), "report-lost");
}

/// Simulates a full disk: of the coordinator's files none may grow, in no folder.
TEST_F(LostFolder, OnAFullDiskEndsTheRunWithTheTables) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [](const Program& program) {
        const rlimit none{4096, 4096};
        ASSERT_EQ(prlimit(program.id(), RLIMIT_FSIZE, &none, nullptr), 0);
      },
      90.0);
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("6 MiB"));
  EXPECT_THAT(outcome.error, HasSubstr("a crash would lose"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "record.json"));
}

// A run is found again by its label.

class RunLabel : public MpiTest {
 protected:
  Outcome call(const Words& arguments) { return run_linkgain(folder_, arguments); }

  /// Runs into the usual folder below results/.
  void measure(const std::string& label) {
    const Outcome outcome = call({"run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "8",
                                  "--launches", "1", "--quiet", "--label", label});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
  }

  ScratchFolder folder_;
};

TEST_F(RunLabel, IsListedComparedAndReported) {
  ASSERT_NO_FATAL_FAILURE(measure("before"));
  ASSERT_NO_FATAL_FAILURE(measure("after"));
  const Outcome listed = with_status(0, call({"list", "--json"}));
  const Json runs = Json::parse(listed.output).at("runs");
  ASSERT_THAT(runs, SizeIs(2));
  Words labels;
  for (const Json& run : runs) {
    labels.push_back(run.at("label"));
    EXPECT_EQ(run.at("status"), "complete");
    EXPECT_EQ(run.at("cases"), 1);
    EXPECT_THAT(run.at("path").get<std::string>(), StartsWith("results/"));
  }
  EXPECT_THAT(labels, testing::UnorderedElementsAre("before", "after"));
  EXPECT_THAT(call({"list"}).output, AllOf(HasSubstr("before"), HasSubstr("after")));
  const Outcome compared = with_status(0, call({"compare", "before", "after", "--json"}));
  EXPECT_THAT(Json::parse(compared.output).at("comparisons").at(0).at("cases"), SizeIs(2));
  const Outcome report = with_status(0, call({"report", "before", "--format", "md"}));
  EXPECT_THAT(report.output, HasSubstr("- Label: before\n"));
  EXPECT_EQ(call({"baseline", "before", "-o", "baseline.json"}).status, 0);
}

TEST_F(RunLabel, ThatIsUnknownOrNoneIsRefused) {
  EXPECT_EQ(call({"run", "--backend", "mpi", "--label", "a b"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results"));
  EXPECT_EQ(call({"list"}).status, 2) << "no folder";
  for (const std::string command : {"report", "check"}) {
    const Outcome outcome = call({command, "before"});
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.output, IsEmpty()) << command;
  }
}

}  // namespace
}  // namespace linkgain::test
