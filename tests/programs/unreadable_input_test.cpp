#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "redirection.hpp"

/// Input that cannot be read is no verdict: status 2, where 1 means that a case fails or a node is
/// slow.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The smallest: it is read again and again.
const std::string kRecord = RESULTS_FOLDER "/4xH200-training/record.json";

class UnreadableInput : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  /// Replaces what stands between `begin` and the next `end` in a file's text.
  static std::string replaced(const std::string& file, const std::string& begin,
                              const std::string& end, const std::string& by) {
    std::string text = read_text(file);
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) throw std::runtime_error(file + " has no " + begin);
    const std::size_t first = from + begin.size();
    return text.replace(first, text.find(end, first) - first, by);
  }

  void expect_refusal(const Words& arguments) const {
    const Outcome outcome = run_linkgain(folder_, arguments);
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    EXPECT_EQ(outcome.status, 2) << line << outcome.error;
    EXPECT_THAT(outcome.error, StartsWith("linkgain: ")) << line;
    EXPECT_EQ(outcome.output, "") << line;
  }

  /// Tries every command that reads records.
  void expect_refused_record(const std::string& file) const {
    expect_refusal({"report", file});
    expect_refusal({"compare", kRecord, file});
    expect_refusal({"baseline", file, "--json"});
    expect_refusal({"check", file, "--baseline", "baseline.json"});
    expect_refusal({"check", kRecord, "--baseline", file});
  }

  void SetUp() override {
    const Outcome made = run_linkgain(folder_, {"baseline", kRecord, "--output", "baseline.json"});
    ASSERT_EQ(made.status, 0) << made.error;
  }

  ScratchFolder folder_;
};

TEST_F(UnreadableInput, OfANumberThatIsOutOfRange) {
  write("record.json", replaced(kRecord, "\"wall_s\": ", ",", "1e400"));
  expect_refused_record("record.json");
  write("changed.json",
        replaced((folder_ / "baseline.json").string(), "\"time_s\":", ",", "1e400"));
  expect_refusal({"check", kRecord, "--baseline", "changed.json"});
}

TEST_F(UnreadableInput, OfALinkToItself) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  expect_refused_record("loop");
  expect_refusal({"fleet", "loop"});
  expect_refusal({"run", "--hostfile", "loop"});
  expect_refusal({"run", "--only", "gpt2_step", "--tokens", "loop"});
  std::filesystem::create_directory(folder_ / "folder");
  std::filesystem::create_symlink("record.json", folder_ / "folder" / "record.json");
  expect_refused_record("folder");
}

TEST_F(UnreadableInput, OfAFolderWithoutRecord) {
  std::filesystem::create_directory(folder_ / "folder");
  expect_refused_record("folder");
  expect_refusal({"fleet", "folder"});
}

/// Makes one among others a finding of its node.
TEST_F(UnreadableInput, OfEveryRecordOfAFleet) {
  write("bad.json", "garbage");
  const auto fleet = [&](const Words& records) {
    const Outcome outcome =
        run_linkgain(folder_, joined({"fleet", "--prometheus", "fleet.prom"}, records));
    EXPECT_THAT(outcome.output, HasSubstr("bad   unreadable")) << outcome.error;
    EXPECT_THAT(read_text(folder_ / "fleet.prom"),
                HasSubstr("\nlinkgain_fleet_exit_status " + std::to_string(outcome.status) + "\n"));
    return outcome.status;
  };
  EXPECT_EQ(fleet({"bad.json"}), 2);
  EXPECT_EQ(fleet({kRecord, "bad.json"}), 1);
}

/// Keeps what was measured on other days though a full disk cut a record.
TEST_F(UnreadableInput, OfOneRecordAmongOthersCostsItAlone) {
  const std::string whole = read_text(kRecord);
  write("cut.json", whole.substr(0, whole.size() / 2));
  const auto run = [&](const Words& arguments, int status) {
    const Outcome outcome = run_linkgain(folder_, arguments);
    EXPECT_EQ(outcome.status, status) << arguments.front() << outcome.output << outcome.error;
    EXPECT_THAT(outcome.output + outcome.error, HasSubstr("left out: cut.json: "));
    return outcome.output;
  };
  run({"baseline", "cut.json", kRecord, "-o", "of-one.json"}, 1);
  EXPECT_THAT(read_text(folder_ / "of-one.json"), HasSubstr("\"cases\""));
  EXPECT_THAT(run({"check", kRecord, "cut.json", "--baseline", "baseline.json", "--prometheus",
                   "check.prom"},
                  7),
              HasSubstr("INCONCLUSIVE: "));
  EXPECT_THAT(read_text(folder_ / "check.prom"), HasSubstr("\nlinkgain_check_exit_status 7\n"));
  EXPECT_THAT(run({"report", kRecord, "cut.json", "--format", "html"}, 1), HasSubstr("<html"));
}

TEST_F(UnreadableInput, OfNcclTestsWithoutDevices) {
  const std::string document = CORE_TEST_DATA "/nccl_tests.json";
  for (const char* value : {"null", "7", "{}", "[null]", "[{\"rank\": \"a\"}]", "1e400"}) {
    Json changed = Json::parse(read_text(document));
    changed["config"]["devices"] = "here";
    std::string text = changed.dump();
    const std::string here = "\"here\"";
    write("nccl-tests.json", text.replace(text.find(here), here.size(), value));
    const Outcome outcome = run_linkgain(folder_, {"compare", document, "nccl-tests.json"});
    EXPECT_EQ(outcome.status, 2) << value << outcome.error;
  }
}

TEST_F(UnreadableInput, OfAHostfileWithoutEnd) {
  if (access("/dev/zero", R_OK) != 0) GTEST_SKIP() << "no /dev/zero";
  expect_refusal({"run", "--hostfile", "/dev/zero"});
}

/// Waits for no pipe without a writer and no device without an end.
TEST_F(UnreadableInput, OfWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "out");
  ASSERT_EQ(mkfifo((folder_ / "out" / "journal.jsonl").c_str(), 0600), 0);
  for (const char* file : {"pipe", "/dev/zero", "out"}) {
    expect_refused_record(file);
  }
  for (const char* file : {"pipe", "/dev/zero"}) {
    expect_refusal({"fleet", file});
    expect_refusal({"run", "--hostfile", file});
    expect_refusal({"run", "--only", "gpt2_step", "--tokens", file});
    expect_refusal({"run", "--profile", std::string("./") + file});
  }
}

/// Changes a record's own verdicts, which are for other programs: linkgain judges its samples anew.
TEST_F(UnreadableInput, OfAnotherVerdictChangesNoAnswer) {
  Json record = Json::parse(read_text(kRecord));
  record.erase("digest");
  const auto answers = [&] {
    write("record.json", record.dump());
    std::string all;
    for (const Words& arguments :
         std::vector<Words>{{"report", "record.json", "--format", "md"},
                            {"report", "record.json", "--format", "csv"},
                            {"report", "record.json", "--format", "html"},
                            {"report", "record.json", "--format", "json"},
                            {"compare", kRecord, "record.json", "--format", "md"},
                            {"check", "record.json", "--baseline", "baseline.json", "--json"},
                            {"fleet", "record.json", "--json"},
                            {"fleet", "record.json", "--verbose"}}) {
      const Outcome outcome = run_linkgain(folder_, arguments);
      all += std::to_string(outcome.status) + "\n" + outcome.output + outcome.error;
    }
    return all;
  };
  const std::string honest = answers();
  ASSERT_THAT(honest, AllOf(HasSubstr("power-capped"), Not(HasSubstr("wrong-path"))));
  record["exit_code"] = 5;
  EXPECT_EQ(answers(), honest);
  record["warnings"] = Json::array();
  EXPECT_EQ(answers(), honest);
  record["warnings"] = {{{"code", "wrong-path"}, {"text", "claimed"}, {"advice", ""}}};
  EXPECT_EQ(answers(), honest);
}

/// Lets another machine's file act on no terminal and in no browser.
TEST_F(UnreadableInput, OfHostileTextIsShownAndNotCarriedOut) {
  std::string text = read_text(kRecord);
  const std::string host = Json::parse(text).at("machine").at("host");
  const std::string hostile =
      "h\\u001b]0;title\\u0007\\u202e<img src=x>[click](https://example.com)\\u009b31m";
  for (std::size_t at = text.find('"' + host + '"'); at != std::string::npos;
       at = text.find('"' + host + '"', at + 1)) {
    text.replace(at + 1, host.size(), hostile);
  }
  write("record.json", text);
  for (const Words& arguments :
       std::vector<Words>{{"report", "record.json"},
                          {"report", "record.json", "--format", "md"},
                          {"report", "record.json", "--format", "csv"},
                          {"compare", kRecord, "record.json"},
                          {"compare", kRecord, "record.json", "--format", "md"},
                          {"check", "record.json", "--baseline", "baseline.json", "--format", "md"},
                          {"fleet", "record.json"},
                          {"fleet", "record.json", "--format", "md"}}) {
    const Outcome outcome = run_linkgain(folder_, arguments);
    const std::string all = outcome.output + outcome.error;
    for (const char* acts : {"\x1b", "\x07", "\u202e", "\u009b", "\n::"}) {
      EXPECT_THAT(all, Not(HasSubstr(acts))) << arguments.front() << " " << arguments.back();
    }
    if (arguments.back() != "md") continue;
    for (const char* marks : {"h<img", "><img", "e<img", "](https"}) {
      EXPECT_THAT(all, Not(HasSubstr(marks))) << arguments.front();
    }
  }
  EXPECT_THAT(run_linkgain(folder_, {"report", "record.json"}).output,
              HasSubstr("\\x1b]0;title\\x07\\u202e\\<img src=x>"));
  write("refused.json", "{\"schema\": \"linkgain.record/1\", \"a\\n::error::b\": 1}");
  EXPECT_THAT(run_linkgain(folder_, {"report", "refused.json"}).error, Not(HasSubstr("\n::")));
}

TEST_F(UnreadableInput, InAFolderThatIsGone) {
  for (const Words& arguments : std::vector<Words>{{"report", "record.json"},
                                                   {"fleet", "nodes"},
                                                   {"check", "out", "--baseline", "b.json"},
                                                   {"run", "--backend", "mpi", "--np", "2"}}) {
    // Status 3 where there is no MPI.
    const Outcome outcome =
        in_shell(folder_, "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"",
                 linkgain(folder_, arguments));
    EXPECT_THAT(outcome.status, testing::AnyOf(2, 3)) << arguments.front() << outcome.error;
    EXPECT_THAT(outcome.error, StartsWith("linkgain: "));
  }
}

/// Makes folders come and go for as long as fleet looks.
TEST_F(UnreadableInput, OfFoldersThatGoAwayEndsInNoException) {
  std::filesystem::create_directories(folder_ / "nodes" / "z");
  std::filesystem::copy_file(kRecord, folder_ / "nodes" / "z" / "record.json");
  const std::string changes =
      "while :; do mkdir -p nodes/a/b/c/d nodes/e/f; rm -rf nodes/a nodes/e; done";
  const Program meanwhile({.arguments = {"/bin/sh", "-c", changes}, .directory = folder_.path()});
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Outcome outcome = run_linkgain(folder_, {"fleet", "nodes"});
    EXPECT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.output, Not(HasSubstr("cannot be read")));
  }
}

}  // namespace
}  // namespace linkgain::test
