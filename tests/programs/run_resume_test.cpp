#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

#include "harmed_run.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Words kFewCases{"--only",     "all_reduce", "--sizes",    "64K:256K:+64K",
                      "--launches", "2",          "--ci-width", "0.5"};

class RunResume : public HarmedRun {
 protected:
  Outcome resume(const Words& more = {}) {
    return run_linkgain(folder_, joined({"run", "--resume", "out"}, more));
  }

  /// Reads the files of the run's folder, except for logs.
  std::map<std::string, std::string> files() {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "out")) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && name != "run.log" && name != ".linkgain")
        all[name] = read_text(entry.path());
    }
    return all;
  }

  /// Reads the unfinished run's record.
  Json record_so_far() {
    const Outcome told = run_linkgain(folder_, {"report", "out", "--json"});
    EXPECT_EQ(told.status, 0) << told.error;
    return Json::parse(told.output);
  }

  /// Expects the time of the part that `before` is of to count, and that of the one since, which
  /// took no more than so many seconds.
  void expect_time_of_both(const Json& before, double seconds_since) {
    const Json record = read_record(folder_);
    double spent_before = 0.0;
    double spent_since = 0.0;
    for (const char* part : {"starting_s", "opening_s", "sampling_s", "verifying_s", "ending_s"}) {
      const double earlier = before.at("time_spent").at(part);
      const double since = record.at("time_spent").at(part).get<double>() - earlier;
      EXPECT_GE(since, 0.0) << part;
      spent_before += earlier;
      spent_since += since;
    }
    const double wall_before = before.at("wall_s");
    const double wall_since = record.at("wall_s").get<double>() - wall_before;
    EXPECT_GT(spent_before, 0.0);
    EXPECT_GE(wall_before, spent_before);
    EXPECT_GE(wall_since, spent_since);
    EXPECT_LE(wall_since, seconds_since);
  }

  /// Expects as many samples of every variant of every case in each launch, and no more.
  void expect_whole(int cases = 4) {
    const Json record = read_record(folder_);
    EXPECT_EQ(record.at("status"), "complete");
    EXPECT_EQ(record.at("cases").size(), cases);
    std::map<std::tuple<int, int, int>, int> counts;
    const Json& samples = record.at("samples");
    for (std::size_t i = 0; i < samples.at("case").size(); ++i) {
      ++counts[{samples.at("case")[i], samples.at("launch")[i], samples.at("variant")[i]}];
    }
    for (int each = 0; each < cases * 2 * 2; ++each) {
      const std::tuple<int, int, int> place{each / 4, each / 2 % 2, each % 2};
      EXPECT_EQ(counts[place], 4) << each;
    }
    EXPECT_FALSE(samples.contains("unverified"));
    for (const Json& each : record.at("cases")) {
      for (const Json& variant : each.at("variants")) {
        EXPECT_GT(variant.at("verification").at("checked"), 0) << each.at("case");
      }
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "journal.jsonl"));
  }
};

/// Leaves out a record's figures, its times, and what was found of its samples: every member with
/// its place, texts as they are. Of samples, which may be more, it has the columns.
std::map<std::string, std::string> frame_of(const Json& record) {
  static const std::regex found(
      "/(started|digest|answer/.*|warnings/.*|samples/disturbed/.*|"
      "cases/[0-9]+/(converged|stopped|variants/[0-9]+/(disturbed_samples|level_shift.*)))");
  static const std::regex sample("(/samples/[^/]+)(/[0-9]+)+");  // by_rank has two
  std::map<std::string, std::string> frame;
  const Json flat = record.flatten();
  for (const auto& [place, value] : flat.items()) {
    if (std::regex_match(place, found)) continue;
    frame[std::regex_replace(place, sample, "$1")] =
        value.is_string() ? value.get<std::string>() : value.type_name();
  }
  return frame;
}

Words differences(const std::map<std::string, std::string>& one,
                  const std::map<std::string, std::string>& other) {
  Words found;
  for (const auto& [a, b] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    for (const auto& [place, value] : *a) {
      const auto same = b->find(place);
      if (same == b->end() || same->second != value) found.push_back(place + ": " + value);
    }
  }
  return found;
}

class RunResumeAfter : public RunResume, public testing::WithParamInterface<int> {};

TEST_P(RunResumeAfter, MakesTheWholeRecord) {
  {
    Program program(run_request(folder_, kFewCases));
    ASSERT_TRUE(comes_to_say(program, "[  2/"));
    program.signal(GetParam());
    const Outcome ended = program.finish(20.0);
    EXPECT_EQ(ended.status, 128 + GetParam());
    if (GetParam() != SIGKILL) {
      EXPECT_THAT(ended.error, HasSubstr("linkgain run --resume out"));
    }
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0));
  }
  const Json before = record_so_far();
  const Outcome outcome = with_status(0, resume());
  EXPECT_THAT(outcome.error, Not(HasSubstr("[  1/8]"))) << "not all of it anew";
  expect_whole();
  expect_time_of_both(before, outcome.seconds);
  EXPECT_THAT(read_text(folder_ / "out" / "report.md"), HasSubstr("went on at"));
  static const auto undisturbed = [] {
    const ScratchFolder folder;
    run_program(run_request(folder, kFewCases));
    return frame_of(read_record(folder));
  }();
  EXPECT_THAT(differences(frame_of(read_record(folder_)), undisturbed), IsEmpty());
  const Outcome again = with_status(2, resume());
  EXPECT_THAT(again.error, HasSubstr("is complete"));
  expect_whole();
}

INSTANTIATE_TEST_SUITE_P(Signals, RunResumeAfter, testing::Values(SIGINT, SIGKILL));

TEST_F(RunResume, GoesOnFromACopyOfTheJournalAlone) {
  {
    Program program(run_request(folder_, kFewCases));
    ASSERT_TRUE(comes_to_say(program, "[  2/"));
    program.signal(SIGKILL);
    program.finish(20.0);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0));
  }
  std::filesystem::rename(folder_ / "out", folder_ / "theirs");
  std::filesystem::create_directory(folder_ / "out");
  std::filesystem::copy_file(folder_ / "theirs/journal.jsonl", folder_ / "out/journal.jsonl");
  const Outcome outcome = with_status(0, resume());
  EXPECT_THAT(outcome.error, Not(HasSubstr("[  1/8]"))) << "not all of it anew";
  expect_whole();
}

/// Rank 1 is late in every verification, which gives the time to harm the first.
class RunResumeAfterVerification : public RunResume {
 protected:
  Outcome harm_verification(const std::function<void(Program&)>& harm) {
    Program program(late(run_request(folder_, {"--only", "all_reduce", "--sizes", "64K",
                                               "--launches", "2", "--ci-width", "0.5"})));
    const std::filesystem::path log = folder_ / "out" / "jobs" / "shared-memory-1.log";
    EXPECT_TRUE(
        comes_true([&] { return read_text(log).find("is late") != std::string::npos; }, 60.0));
    harm(program);
    return program.finish(60.0);
  }

  void expect_whole_after_resume() {
    const Outcome outcome = run_program(late(linkgain(folder_, {"run", "--resume", "out"})));
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    expect_whole(1);
  }

 private:
  static ProgramRequest late(ProgramRequest request) {
    request.environment["LINKGAIN_TEST_FAULT"] = "late@1/verify";
    return request;
  }
};

TEST_F(RunResumeAfterVerification, MeasuresAgainWhatLostJobsDidNotVerify) {
  const Outcome ended = harm_verification([](Program& program) {
    const std::vector<pid_t> ranks = program.processes_named("linkgain-bench");
    ASSERT_THAT(ranks, Not(IsEmpty()));
    for (const pid_t each : ranks) kill(each, SIGKILL);
  });
  EXPECT_EQ(ended.status, 6) << ended.error;
  expect_whole_after_resume();
}

TEST_F(RunResumeAfterVerification, MeasuresAgainWhatWasToBeVerifiedWhenASignalCame) {
  with_status(128 + SIGTERM, harm_verification([](Program& program) { program.signal(SIGTERM); }));
  expect_whole_after_resume();
}

TEST_F(RunResume, RefusesWhatWouldBeAnotherRun) {
  EXPECT_EQ(resume().status, 2) << "there is no folder";
  run_and_harm(
      kFewCases, [](const Program& program) { program.signal(SIGTERM); }, 20.0);
  const std::map<std::string, std::string> before = files();
  Outcome outcome = resume({"--sizes", "8"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("with --sizes"));
  ProgramRequest request = linkgain(folder_, {"run", "--resume", "out"});
  request.environment["OMPI_MCA_btl_tcp_eager_limit"] = "1000";
  outcome = run_program(request);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("OMPI_MCA_btl_tcp_eager_limit"),
                                   HasSubstr("absent and is \"1000\"")));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(resume().status, 0) << "a refusal costs nothing";
  expect_whole();
  int resumed = 0;
  const Json record = read_record(folder_);
  for (const Json& warning : record.at("warnings")) {
    resumed += warning.at("code") == "resumed" ? 1 : 0;
  }
  EXPECT_EQ(resumed, 1) << "what was refused is none of its parts";
}

/// Writes nothing when it reads what anybody may have written.
TEST_F(RunResume, RefusesTheCommandLineOfAnythingElse) {
  {
    Program program(run_request(folder_, kFewCases));
    ASSERT_TRUE(comes_to_say(program, "[  2/"));
    program.signal(SIGKILL);
    program.finish(20.0);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0));
  }
  const std::filesystem::path path = folder_ / "out" / "journal.jsonl";
  const std::filesystem::path made = folder_ / "made";
  std::istringstream lines(read_text(path));
  std::string forged;
  for (std::string text; std::getline(lines, text) && !lines.eof();) {
    Json line = Json::parse(text);
    line.erase("digest");
    if (line.contains("head")) {
      line["head"]["settings"]["argv"] = {"linkgain", "exec", "--out", made.string(), "--", "true"};
    }
    forged += line.dump() + "\n";
  }
  std::ofstream(path) << forged;
  const Outcome outcome = with_status(2, resume());
  EXPECT_THAT(outcome.error, HasSubstr("no command line"));
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST_F(RunResume, RefusesOtherCasesOfAProfile) {
  const std::filesystem::path profile = folder_ / "own.toml";
  std::ofstream(profile) << "sizes = \"64K:256K:+64K\"\n";
  run_and_harm(
      {"--profile", "./own.toml", "--only", "all_reduce", "--launches", "2"},
      [](const Program& program) { program.signal(SIGTERM); }, 20.0);
  const std::string before = read_text(folder_ / "out" / "record.json");
  std::ofstream(profile) << "sizes = \"128K:256K:+64K\"\n";
  Outcome outcome = resume();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("/64KiB/"), HasSubstr("none now")));
  std::ofstream(profile) << "sizes = \"64K:320K:+64K\"\n";
  outcome = resume();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("others now"));
  EXPECT_EQ(read_text(folder_ / "out" / "record.json"), before);
}

}  // namespace
}  // namespace linkgain::test
