#include "linkgain/exec/exec_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "linkgain/base/json.hpp"
#include "linkgain/exec/exec_settings.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "linkgain/record/record_members.hpp"
#include "support/scratch_folder.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Environment kEnvironment{
    {"PATH", "/usr/bin:/bin"}, {"HF_TOKEN", "hf_secret"}, {"NCCL_DEBUG", "WARN"}};

ExecOptions usual() {
  ExecOptions options;
  options.command = {"sh", "-c", "exit 0"};
  return options;
}

ExecPlan plan_of(const ExecOptions& options) { return make_exec_plan(options, kEnvironment); }

std::vector<std::string> case_names(const ExecPlan& plan) {
  std::vector<std::string> names;
  for (const Case& each : plan.cases) names.push_back(case_name(each));
  return names;
}

TEST(ExecPlan, ComparesP2pAndHostByTimeAlone) {
  const ExecPlan plan = plan_of(usual());
  ASSERT_EQ(plan.variants.size(), 2U);
  EXPECT_EQ(plan.variants[0], (Variant{"p2p", {}, {}}));
  EXPECT_EQ(plan.variants[1].name, "host");
  EXPECT_EQ(plan.variants[1].environment.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(plan.variants[1].environment.at("NCCL_NVLS_ENABLE"), "0");
  EXPECT_THAT(case_names(plan), ElementsAre("exec/time"));
}

TEST(ExecPlan, HasACaseForEachMetric) {
  ExecOptions options = usual();
  options.metrics = {"tokens=([0-9.]+) tok/s"};
  options.higher_is_better = {kOnlyMetric};
  options.step = "^step";
  EXPECT_THAT(case_names(plan_of(options)),
              ElementsAre("exec/time", "exec/start-up", "exec/tokens/higher", "exec/step"));
  for (const std::string& name : case_names(plan_of(options))) {
    EXPECT_EQ(case_name(parse_case_name(name)), name);
  }
}

TEST(ExecPlan, HigherIsBetterOfTheMetricsThatAreNamed) {
  ExecOptions options = usual();
  options.metrics = {"train_runtime.*?([0-9.]+)", "train_samples_per_second.*?([0-9.]+)",
                     "tokens=tok/s: ([0-9.]+)"};
  options.higher_is_better = {"train_samples_per_second"};
  EXPECT_THAT(case_names(plan_of(options)),
              ElementsAre("exec/time", "exec/start-up", "exec/train_runtime",
                          "exec/train_samples_per_second/higher", "exec/tokens"));
  for (const std::vector<std::string>& both : std::vector<std::vector<std::string>>{
           {"tokens,train_runtime"}, {"train_runtime", "tokens"}}) {
    options.higher_is_better = both;
    EXPECT_THAT(case_names(plan_of(options)),
                ElementsAre("exec/time", "exec/start-up", "exec/train_runtime/higher",
                            "exec/train_samples_per_second", "exec/tokens/higher"));
  }
}

TEST(ExecPlan, VariantsChangeVariablesArgumentsAndGpus) {
  ExecOptions options = usual();
  options.variants = {"p2p", "quiet:NCCL_P2P_DISABLE=1,NCCL_ALGO=^Ring,Tree", "pair"};
  options.arguments = {"quiet:--one 'two three'", "quiet:--four"};
  options.gpus = {"pair:0,2"};
  const ExecPlan plan = plan_of(options);
  EXPECT_EQ(plan.variants[1].environment,
            (Environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_ALGO", "^Ring,Tree"}}));
  EXPECT_THAT(plan.variants[1].arguments, ElementsAre("--one", "two three", "--four"));
  EXPECT_EQ(plan.variants[2].environment, (Environment{{"CUDA_VISIBLE_DEVICES", "0,2"}}));
  EXPECT_THAT(command_of(plan, {1, 2, false}),
              ElementsAre("sh", "-c", "exit 0", "--one", "two three", "--four"));
}

TEST(ExecPlan, ArgumentsStandWhereTheyAreToStand) {
  ExecOptions options = usual();
  options.arguments = {"host:-x"};
  options.command = {"sh", "{args}", "-c", "exit 0"};
  EXPECT_THAT(command_of(plan_of(options), {1, 1, false}), ElementsAre("sh", "-x", "-c", "exit 0"));
  EXPECT_THAT(command_of(plan_of(options), {0, 1, false}), ElementsAre("sh", "-c", "exit 0"));
  options.command = {"sh", "-c", "exit 0"};
  options.server = "sleep {args} 9";
  options.ready = "x";
  const ExecPlan plan = plan_of(options);
  EXPECT_THAT(server_of(plan, {1, 1, false}), ElementsAre("sleep", "-x", "9"));
  EXPECT_THAT(command_of(plan, {1, 1, false}), ElementsAre("sh", "-c", "exit 0"));
}

TEST(ExecPlan, WarmsUpInTurnAndThenShufflesAllRuns) {
  ExecOptions options = usual();
  options.rounds = 40;
  options.warm_up = 2;
  options.seed = 5;
  const std::vector<RunPlace> order = run_order(plan_of(options));
  ASSERT_EQ(order.size(), 84U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(order[i], (RunPlace{static_cast<int>(i % 2), static_cast<int>(i / 2) + 1, true}));
  }
  std::vector<int> rounds(2, 0);
  int repeated = 0;
  for (std::size_t i = 4; i < order.size(); ++i) {
    EXPECT_EQ(order[i].round, ++rounds[static_cast<std::size_t>(order[i].variant)]);
    repeated += i > 4 && order[i].variant == order[i - 1].variant ? 1 : 0;
  }
  EXPECT_THAT(rounds, ElementsAre(40, 40));
  EXPECT_GT(repeated, 25) << "of 79, for every second run is of the one before";
  EXPECT_LT(repeated, 55);
}

TEST(ExecPlan, AddedRoundsGoOnInAnOrderOfTheirOwn) {
  ExecOptions options = usual();
  options.rounds = 20;
  options.seed = 5;
  const ExecPlan plan = plan_of(options);
  const std::vector<RunPlace> first = shuffled_rounds(plan, 1, 20);
  const std::vector<RunPlace> more = shuffled_rounds(plan, 21, 40);
  ASSERT_EQ(more.size(), 40U);
  EXPECT_EQ(std::ranges::min(more, {}, &RunPlace::round).round, 21);
  EXPECT_EQ(std::ranges::max(more, {}, &RunPlace::round).round, 40);
  EXPECT_FALSE(std::ranges::equal(first, more, {}, &RunPlace::variant, &RunPlace::variant));
}

TEST(ExecPlan, NamesMetricsSoThatTheyDiffer) {
  const auto names = [](const std::vector<std::string>& metrics) {
    ExecOptions options = usual();
    options.metrics = metrics;
    std::vector<std::string> given;
    for (const MetricRequest& each : plan_of(options).output.metrics) {
      given.push_back(each.metric.name);
    }
    return given;
  };
  EXPECT_THAT(names({"decode b=1 .*ms=([0-9.]+)", "decode b=64 .*ms=([0-9.]+)"}),
              ElementsAre("decode-b-1", "decode-b-64"));
  EXPECT_THAT(names({"step=([0-9.]+)ms", "time: ([0-9.]+)"}), ElementsAre("metric-1", "metric-2"));
  EXPECT_THAT(names({"step time: ([0-9.]+)"}), ElementsAre("step-time"));
  EXPECT_THAT(names({"step.*?train loss ([0-9.]+)"}), ElementsAre("train-loss"));
  EXPECT_THAT(names({"step.*?\\s([0-9.]+)", "time.*?[a-z]*([0-9.]+)"}),
              ElementsAre("metric-1", "metric-2"))
      << "no letters of an escape or a class";
  EXPECT_THAT(names({"1073741824 .* ([0-9.]+)", "([0-9.]+) tok/s"}),
              ElementsAre("metric-1", "metric-2"));
  EXPECT_THAT(names({"loss: ([0-9.]+)", "loss: ([0-9.]+)"}), ElementsAre("metric-1", "metric-2"));
  EXPECT_THAT(names({"loss=eval loss: ([0-9.]+)", "loss: ([0-9.]+)"}),
              ElementsAre("loss", "metric-2"));
  EXPECT_THAT(names({"metric-2=loss: ([0-9.]+)", "(.)"}), ElementsAre("metric-2", "metric-3"));
  EXPECT_THAT(names({std::string(50, 'x') + " (.)"}), ElementsAre("metric-1"));
}

TEST(ExecPlan, SaysWhyAMetricHasANumberForAName) {
  ExecOptions options = usual();
  options.metrics = {"loss: ([0-9.]+)", "step=([0-9.]+)ms", "([0-9.]+) tok/s", "([0-9.]+)"};
  const ExecPlan plan = plan_of(options);
  const std::string text = dry_run_text(plan, kEnvironment);
  expect_golden(text.substr(0, text.find("# round")), "numbered_metrics.txt");
  for (const std::string named : {"NAME=step=([0-9.]+)ms", "NAME=.*?([0-9.]+) tok/s"}) {
    EXPECT_THAT(text, testing::HasSubstr("--metric '" + named + "'"));
    EXPECT_TRUE(parse_metric(named).is_named);
  }
}

TEST(ExecPlan, RefusesWhatCannotBeMeant) {
  Situations said;
  const auto refuse = [&](const std::string& what, auto change) {
    ExecOptions options = usual();
    change(options);
    said.refuse(what, [&] { plan_of(options); });
  };
  said.about("the command");
  refuse("none", [](ExecOptions& o) { o.command.clear(); });
  refuse("not there", [](ExecOptions& o) { o.command = {"no-such-program"}; });
  refuse("a path that is not there", [](ExecOptions& o) { o.command = {"./no-such-file"}; });
  refuse("not executable", [](ExecOptions& o) { o.command = {"/etc/passwd"}; });
  refuse("one text", [](ExecOptions& o) { o.command = {"sh -c true"}; });
  said.about("variants");
  refuse("unknown", [](ExecOptions& o) { o.variants = {"hots"}; });
  refuse("twice", [](ExecOptions& o) { o.variants = {"host", "host"}; });
  refuse("arguments of none", [](ExecOptions& o) { o.arguments = {"--x"}; });
  refuse("arguments of another", [](ExecOptions& o) { o.arguments = {"hots:--x"}; });
  refuse("an open quote", [](ExecOptions& o) { o.arguments = {"host:'x"}; });
  refuse("GPUs that are none", [](ExecOptions& o) { o.gpus = {"host:first"}; });
  refuse("one GPU twice", [](ExecOptions& o) { o.gpus = {"host:0,0"}; });
  refuse("GPUs of one variant twice", [](ExecOptions& o) { o.gpus = {"host:0", "host:1"}; });
  said.about("the output");
  refuse("one name for two", [](ExecOptions& o) { o.metrics = {"a=x(.)", "a=y(.)"}; });
  refuse("--skip alone", [](ExecOptions& o) { o.skip = 1; });
  refuse("--metric-use alone", [](ExecOptions& o) { o.metric_use = MetricUse::sum; });
  refuse("--higher-is-better alone", [](ExecOptions& o) { o.higher_is_better = {kOnlyMetric}; });
  const auto refuse_rate = [&](const std::string& what, const std::string& names) {
    refuse(what, [&](ExecOptions& o) {
      o.metrics = {"tokens=tok/s: (.)", "loss: (.)"};
      o.step = "step";
      o.higher_is_better = {names};
    });
  };
  refuse_rate("--higher-is-better of two metrics", kOnlyMetric);
  refuse("--unit tok/s of two metrics", [](ExecOptions& o) {
    o.metrics = {"tokens=tok/s: (.)", "ttft=ttft: (.)"};
    o.units = {"tok/s"};
  });
  refuse_rate("--higher-is-better=tokns", "tokns");
  refuse_rate("--higher-is-better=loss,", "loss,");
  refuse_rate("--higher-is-better=step", "step");
  refuse("a step that is no pattern", [](ExecOptions& o) { o.step = "("; });
  said.about("the server");
  refuse("--ready alone", [](ExecOptions& o) { o.ready = "x"; });
  refuse("--ready-timeout alone", [](ExecOptions& o) { o.ready_timeout = kDefaultReadyTimeout; });
  refuse("--server alone", [](ExecOptions& o) { o.server = "sleep 1"; });
  refuse("not there", [](ExecOptions& o) {
    o.server = "no-such-server --port 1";
    o.ready = "x";
  });
  refuse("a container in the background", [](ExecOptions& o) {
    o.server = "env docker run -d image";
    o.ready = "x";
  });
  said.expect_golden("plans_refused.txt");
}

TEST(ExecPlan, DryRunShowsWhatWouldBeStarted) {
  ExecOptions options = usual();
  options.rounds = 2;
  options.warm_up = 1;
  options.seed = 1;
  options.arguments = {"host:--flag 'a b'"};
  options.gpus = {"host:1,0"};
  options.prepare = "rm -f /tmp/{variant}";
  options.cleanup = "echo $? {other}";
  options.server = "sleep {round}";
  options.ready = "up";
  options.command = {"sh", "-c", "echo \"$0\" {round}", "it's {variant}"};
  const ExecPlan plan = plan_of(options);
  expect_golden(dry_run_text(plan, kEnvironment), "dry_run.txt");
  Environment unbuffered = kEnvironment;
  unbuffered["PYTHONUNBUFFERED"] = "x";
  EXPECT_THAT(dry_run_text(plan, unbuffered), testing::Not(testing::HasSubstr("PYTHON")));
}

TEST(DryRun, HasScriptsAsAnyShellTakesThem) {
  ExecOptions options = usual();
  options.prepare = "echo a\necho b";
  options.command = {"sh", "-c", "echo 1\n::error::2"};
  const std::string text = dry_run_text(plan_of(options), kEnvironment);
  EXPECT_THAT(text, testing::HasSubstr(" sh -c 'echo a\necho b'\n"));
  EXPECT_THAT(text, testing::HasSubstr(" sh -c 'echo 1\n''::error::2'\n"))
      << "which is no command to what runs jobs of CI";
}

TEST(ExecSettings, HoldTheCommandWithoutSecrets) {
  ExecOptions options = usual();
  options.argv = {"linkgain", "exec", "--variant", "x:MY_TOKEN=abc", "--", "sh"};
  options.variants = {"p2p", "x:MY_TOKEN=abc,NCCL_ALGO=Ring"};
  options.command = {"sh", "-c", "API_KEY=def true"};
  options.metrics = {"loss (.*)"};
  options.warm_up = 1;
  const ExecPlan plan = plan_of(options);
  const Settings settings = settings_of(options, plan, kEnvironment);
  const std::string text = json::dump(json::write(settings));
  for (const char* secret : {"abc", "def", "hf_secret"}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
  }
  EXPECT_EQ(settings.environment_in_force[1],
            (Environment{{"MY_TOKEN", "***"}, {"NCCL_ALGO", "Ring"}, {"NCCL_DEBUG", "WARN"}}));
  EXPECT_EQ(plan.variants[1].environment.at("MY_TOKEN"), "abc") << "what the command gets";
  const Settings read = json::read<Settings>(text, json::Source{"record", ""});
  EXPECT_EQ(read.program, settings.program);
  EXPECT_EQ(read.variants, settings.variants);
  EXPECT_EQ(read.backend, BackendKind::exec);
}

TEST(ExecEnvironment, HasPythonWriteAtOnceUnlessSaidOtherwise) {
  EXPECT_EQ(environment_of({"x", {{"A", "1"}}}, {{"B", "2"}}),
            (Environment{{"A", "1"}, {"B", "2"}, {"PYTHONUNBUFFERED", "1"}}));
  EXPECT_EQ(environment_of({"x", {}}, {{"PYTHONUNBUFFERED", ""}}).at("PYTHONUNBUFFERED"), "");
}

TEST(ExecEnvironment, HasWhatAFileOfNcclsSets) {
  const ScratchFolder folder;
  const std::string conf = (folder.path() / "nccl.conf").string();
  std::ofstream(conf) << "NCCL_P2P_DISABLE=1\nNCCL_ALGO=Ring\nNCCL_PROTO=LL\n";
  const Environment callers{
      {"PATH", "/bin:/usr/bin"}, {"NCCL_CONF_FILE", conf}, {"NCCL_PROTO", "Simple"}};
  ExecOptions options = usual();
  options.variants = {"p2p", "host", "mine:-NCCL_P2P_DISABLE"};
  const ExecPlan plan = make_exec_plan(options, callers);
  Record begun;
  begun.settings = settings_of(options, plan, callers);
  for (const Environment& in_force : begun.settings.environment_in_force) {
    EXPECT_EQ(value_of(in_force, "NCCL_P2P_DISABLE"), "1") << "whatever the environment lacks";
    EXPECT_EQ(value_of(in_force, "NCCL_ALGO"), "Ring");
    EXPECT_EQ(value_of(in_force, "NCCL_PROTO"), "Simple") << "the environment goes first";
  }
  EXPECT_EQ(begun.settings.nccl_files,
            (Environment{{"NCCL_P2P_DISABLE", conf}, {"NCCL_ALGO", conf}}));
  const std::vector<Warning> warnings = warnings_of(plan, begun);
  ASSERT_EQ(warnings.size(), 2U) << "of p2p and mine";
  EXPECT_THAT(warnings[0].text, HasSubstr("=1 of " + conf));
  EXPECT_THAT(warnings[0].advice, HasSubstr(conf));
  ExecPlan contained = plan;
  contained.command = {"docker", "run", "image", "train"};
  EXPECT_TRUE(settings_of(options, contained, callers).nccl_files.empty()) << "it has others";
}

TEST(ExecEnvironment, LacksWhatTheVariantTakesAway) {
  ExecOptions options = usual();
  options.variants = {"p2p", "staged:host,-GGML_CUDA_P2P"};
  const Environment callers{{"PATH", "/bin:/usr/bin"}, {"GGML_CUDA_P2P", "1"}};
  const ExecPlan plan = make_exec_plan(options, callers);
  EXPECT_TRUE(environment_of(plan.variants[0], callers).contains("GGML_CUDA_P2P"));
  EXPECT_FALSE(environment_of(plan.variants[1], callers).contains("GGML_CUDA_P2P"));
  EXPECT_THAT(dry_run_text(plan, callers), HasSubstr("\nenv -u GGML_CUDA_P2P NCCL_NVLS_ENABLE=0"));
  const Settings read = json::read<Settings>(
      json::dump(json::write(settings_of(options, plan, callers))), json::Source{"record", ""});
  EXPECT_EQ(read.variants, plan.variants);
  EXPECT_EQ(container_warning(plan, all_received(plan)), std::nullopt);
  options.command = {"env", "GGML_CUDA_P2P=1", "sh", "-c", "exit 0"};
  const ExecPlan sets = make_exec_plan(options, callers);
  const std::optional<Warning> warning = container_warning(sets, all_received(sets));
  ASSERT_TRUE(warning);
  EXPECT_THAT(warning->text, testing::StartsWith("-GGML_CUDA_P2P of the variants"));
  EXPECT_THAT(warning->advice, testing::EndsWith(" for GGML_CUDA_P2P"));
}

}  // namespace
}  // namespace linkgain::test
