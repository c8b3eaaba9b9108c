#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "linkgain/record/variants.hpp"
#include "linkgain/report/report.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

Settings settings_of(std::vector<std::string> options) {
  Settings settings;
  settings.argv = {"linkgain", "run"};
  settings.argv.insert(settings.argv.end(), options.begin(), options.end());
  settings.profile = "default";
  settings.launches = 6;
  settings.variants = default_variants({});
  return settings;
}

/// Of a run with these options, without what is appended.
std::string given(std::vector<std::string> options) {
  const std::string text = repetition(settings_of(std::move(options)), 2);
  return text.substr(0, text.find(" --backend"));
}

TEST(Repetition, HasTodaysNamesOfOptions) {
  EXPECT_EQ(given({"--launch", "graph"}), "linkgain run --launch-mode graph");
  EXPECT_EQ(given({"--launch=graph"}), "linkgain run --launch-mode=graph");
  EXPECT_EQ(given({"--precision", "0.02"}), "linkgain run --ci-width 0.02");
  EXPECT_EQ(given({"--deadline=90"}), "linkgain run --timeout=90");
  EXPECT_EQ(given({"--training-precision", "bf16"}), "linkgain run --training-precision bf16");
  EXPECT_EQ(given({"--launches=8"}), "linkgain run --launches=8");
}

TEST(Repetition, HasWhatWasInForceByDefault) {
  Situations commands;
  commands.add("defaults", repetition(settings_of({}), 2));
  commands.add("all given", repetition(settings_of({"--backend", "nccl", "--profile", "default",
                                                    "--schedule", "paired", "--np", "2",
                                                    "--launches", "6", "--variant", "p2p"}),
                                       2));
  Settings own = settings_of({"--profile", "./nightly.toml"});
  own.variants.push_back({"ring", {{"NCCL_ALGO", "Ring"}}});
  commands.add("variants in a file", repetition(own, 2));
  Settings library = settings_of({});
  library.variants[1].nccl = "/opt/nccl/libnccl.so.2";
  commands.add("a library in a file", repetition(library, 2));
  commands.expect_golden("repetitions.txt");
}

/// As a job of CI shows it, to which ::error at the start of a line is a command.
TEST(Repetition, IsOneLine) {
  EXPECT_EQ(given({"--label", "x\n::error::y"}), "linkgain run --label $'x\\n::error::y'");
}

TEST(Repetition, NamesNoRanksWhereGpusOrHostsDo) {
  for (const char* option : {"--np=2", "--gpus=0,1", "--launcher=srun", "--hostfile=hosts"}) {
    EXPECT_EQ(repetition(settings_of({option}), 2).find("--np "), std::string::npos) << option;
  }
  EXPECT_EQ(repetition(settings_of({}), 0).find("--np"), std::string::npos);
}

TEST(Repetition, LeavesACommandOfExecAsItWasGiven) {
  Settings settings = settings_of({"--", "train", "--launch", "x"});
  settings.program = ProgramPlan{};
  EXPECT_EQ(repetition(settings, 2), "linkgain run -- train --launch x");
}

}  // namespace
}  // namespace linkgain::test
