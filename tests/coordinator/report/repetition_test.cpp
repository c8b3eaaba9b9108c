#include "linkgain/summary/repetition.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "linkgain/record/variants.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/document.hpp"
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
  Record record;
  record.settings = settings_of(std::move(options));
  return repetition(record);
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
  Record record;
  Settings& own = record.settings = settings_of({});
  own.backend = BackendKind::mpi;
  own.profile = "quick";
  own.schedule = Schedule::sequential;
  own.launches = 3;
  commands.add("others", repetition(record));
  commands.expect_golden("repetitions.txt");
}

TEST(Repetition, LeavesOutWhereResultsGo) {
  EXPECT_EQ(given({"--out", "/tmp/x", "--only=all_reduce", "--label=a", "--quiet", "--json",
                   "--no-color", "--out=y"}),
            "linkgain run --only=all_reduce");
  EXPECT_EQ(given({"--sizes", "8", "--out"}), "linkgain run --sizes 8");
}

TEST(Repetition, SetsWhatWasInherited) {
  Record record;
  record.settings = settings_of({});
  Environment given{{"NCCL_PROTO", "^LL"},     {"NCCL_DEBUG", "INFO"},
                    {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_VERSION", "2.28.3-1"},
                    {"NCCL_P2P_DISABLE", "0"}, {"NCCL_IB_HCA", "mlx5_0"}};
  Environment of_host = given;
  for (const auto& [name, value] : record.settings.variants[1].environment) of_host[name] = value;
  record.settings.environment_in_force = {given, of_host};
  EXPECT_EQ(repetition(record),
            "NCCL_IB_HCA=mlx5_0 NCCL_NVLS_ENABLE=0 NCCL_PROTO='^LL' linkgain run")
      << "not what host sets itself, logs, versions and defaults";
  const std::string variants = to_markdown(variants_section(record));
  EXPECT_NE(variants.find("- p2p: sets nothing\n  - path: nothing measured\n  - inherited: "
                          "`NCCL_IB_HCA=mlx5_0 NCCL_NVLS_ENABLE=0 NCCL_PROTO='^LL'`\n  - in force, "
                          "too: `NCCL_DEBUG=INFO NCCL_P2P_DISABLE=0 NCCL_VERSION=2.28.3-1`"),
            std::string::npos)
      << variants;
  EXPECT_EQ(variants.find("nothing set"), std::string::npos) << variants;
  record.settings.variants[0].unset = {"NCCL_ALGO", "GGML_CUDA_P2P"};
  EXPECT_NE(to_markdown(variants_section(record))
                .find("- p2p: sets nothing, unsets `NCCL_ALGO GGML_CUDA_P2P`\n"),
            std::string::npos);
}

TEST(Repetition, TakesTheSameNccl) {
  Record record;
  record.settings = settings_of({});
  const Environment given{{"LINKGAIN_NCCL", "/opt/nccl/lib"}};
  record.settings.environment_in_force = {given, given};
  EXPECT_EQ(repetition(record), "LINKGAIN_NCCL=/opt/nccl/lib linkgain run");
  for (Variant& each : record.settings.variants) each.environment["LINKGAIN_NCCL"] = "/opt/v32";
  EXPECT_EQ(repetition(record), "linkgain run") << "variants name theirs";
}

/// Protects jobs of CI, to which ::error at the start of a line is a command.
TEST(Repetition, IsOneLine) {
  EXPECT_EQ(given({"--sizes", "x\n::error::y"}), "linkgain run --sizes $'x\\n::error::y'");
}

TEST(Repetition, LeavesACommandOfExecAsItWasGiven) {
  Record record;
  Settings& settings = record.settings =
      settings_of({"--out", "x", "--", "train", "--launch", "x", "--out", "y"});
  settings.argv[1] = "exec";
  settings.program = ProgramPlan{};
  EXPECT_EQ(repetition(record), "linkgain exec -- train --launch x --out y");
}

}  // namespace
}  // namespace linkgain::test
