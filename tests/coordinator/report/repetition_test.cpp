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
  settings.argv = {"/src/build/bin/linkgain", "run"};
  settings.argv.insert(settings.argv.end(), options.begin(), options.end());
  settings.profile = "default";
  settings.launches = 6;
  settings.variants = default_variants({});
  return settings;
}

std::string given(std::vector<std::string> options) {
  return repetition(settings_of(std::move(options)));
}

TEST(Repetition, HasTodaysNamesOfOptions) {
  EXPECT_EQ(given({"--launch", "graph"}), "linkgain run --launch-mode graph");
  EXPECT_EQ(given({"--launch=graph"}), "linkgain run --launch-mode=graph");
  EXPECT_EQ(given({"--precision", "0.02"}), "linkgain run --ci-width 0.02");
  EXPECT_EQ(given({"--deadline=90"}), "linkgain run --timeout=90");
  EXPECT_EQ(given({"--training-precision", "bf16"}), "linkgain run --training-precision bf16");
  EXPECT_EQ(given({"--launches=8"}), "linkgain run --launches=8");
}

TEST(Repetition, HasWhatWasInForceAndIsNotTheDefaultEverywhere) {
  Situations commands;
  commands.add("defaults", given({}));
  commands.add("defaults, given",
               given({"--backend", "nccl", "--profile", "default", "--schedule", "paired", "--np",
                      "2", "--launches", "6", "--variant", "p2p"}));
  commands.add("a profile in a file", given({"--profile", "./nightly.toml"}));
  Settings own = settings_of({});
  own.backend = BackendKind::mpi;
  own.profile = "quick";
  own.schedule = Schedule::sequential;
  own.launches = 3;
  commands.add("others", repetition(own));
  commands.expect_golden("repetitions.txt");
}

TEST(Repetition, LeavesOutWhereResultsGo) {
  EXPECT_EQ(given({"--out", "/tmp/x", "--only=all_reduce", "--label=a", "--quiet", "--json",
                   "--no-color", "--out=y"}),
            "linkgain run --only=all_reduce");
  EXPECT_EQ(given({"--sizes", "8", "--out"}), "linkgain run --sizes 8");
}

/// As a job of CI shows it, to which ::error at the start of a line is a command.
TEST(Repetition, IsOneLine) {
  EXPECT_EQ(given({"--sizes", "x\n::error::y"}), "linkgain run --sizes $'x\\n::error::y'");
}

TEST(Repetition, LeavesACommandOfExecAsItWasGiven) {
  Settings settings = settings_of({"--out", "x", "--", "train", "--launch", "x", "--out", "y"});
  settings.argv[1] = "exec";
  settings.program = ProgramPlan{};
  EXPECT_EQ(repetition(settings), "linkgain exec -- train --launch x --out y");
}

}  // namespace
}  // namespace linkgain::test
