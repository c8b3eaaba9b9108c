#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exec_records.hpp"
#include "linkgain/html/run_page.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/screen/screen.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Environment kPath{{"PATH", "/usr/bin:/bin"}};

ExecOptions reported_options() {
  ExecOptions options;
  options.argv = {"linkgain", "exec", "--", "sh", "train.sh"};
  options.command = {"sh", "train.sh", "--config", "a rather long name of a configuration.yaml"};
  options.seed = 3;
  return options;
}

/// Adds two GPUs that NVLink joins.
void add_gpus(Record& record) {
  for (int i = 0; i < 2; ++i) {
    RankInfo& rank = record.machine.ranks.emplace_back();
    rank.rank = i;
    rank.gpu.emplace();
    rank.gpu->cuda_index = i;
    rank.gpu->name = "NVIDIA H200";
  }
  record.machine.links = {{.from = 0, .to = 1, .p2p = true, .nvlink = true}};
  for (ProgramRun& run : record.runs) {
    run.evidence.no_gpus.clear();
    const std::int64_t bytes = run.variant == "p2p" ? 605'000'000'000 : 0;
    for (int i = 0; i < 2; ++i) {
      GpuEvidence& gpu = run.evidence.gpus.emplace_back();
      gpu.gpu = i;
      gpu.traffic.nvlink_sent = bytes;
      gpu.traffic.nvlink_received = bytes;
    }
    run.evidence.processes_looked = 2;
    run.evidence.nccl = {{"/usr/lib/libnccl.so.2", "2.28.9+cuda13.0", false, 2}};
  }
  record.warnings.clear();
  conclude(record);
}

using Times = std::vector<double>;

/// Gives times by metric and variant; rounds differ by 0.1 %.
Record record_of(const ExecOptions& options, const std::map<std::string, Times>& times) {
  const auto run = [&](const RunPlace& place) {
    std::map<std::string, MetricValues> values;
    for (const auto& [name, of_variants] : times) {
      const double time = of_variants.at(static_cast<std::size_t>(place.variant));
      values[name] = one_value(time * (1.0 + 0.001 * (place.round % 3)));
    }
    return report_of(place, values);
  };
  return execute_double(options, make_exec_plan(options, kPath), run).record;
}

Record training() {
  ExecOptions options = reported_options();
  Record record = record_of(options, {{"time", {101.4, 131.2}}});
  add_gpus(record);
  return record;
}

Record several_metrics() {
  ExecOptions options = reported_options();
  options.variants = {"p2p", "host", "ring:NCCL_ALGO=Ring"};
  options.arguments = {"ring:--fast"};
  options.metrics = {"tokens=([0-9]+)", "memory=([0-9]+)"};
  options.higher_is_better = {"tokens,memory"};
  options.step = "step";
  return record_of(options, {{"time", {50.0, 60.0, 50.01}},
                             {"tokens", {12000.0, 9000.0, 12001.0}},
                             {"memory", {70.5, 70.5, 70.5}},
                             {"start-up", {8.0, 8.1, 8.2}},
                             {"step", {0.25, 0.31, 0.2501}}});
}

std::string exec_screen(const Record& record, const std::string& footer, const ScreenStyle& style) {
  return screen(RunSummary(record), footer, style);
}

std::string exec_card(const Record& record) { return card(RunSummary(record)); }

std::string exec_markdown(const Record& record) {
  return to_markdown(run_report(RunSummary(record)));
}

std::string exec_page(const Record& record) { return run_page(RunSummary(record)); }

/// Gives the screen of the usual width, and expects that those of other widths fit.
std::string screens(const Record& record) {
  std::string text;
  for (const std::size_t columns : {80U, 60U, 45U}) {
    for (const bool utf8 : {true, false}) {
      const std::string shown =
          exec_screen(record, "Details: linkgain report x", {.columns = columns, .utf8 = utf8});
      EXPECT_LE(line_count(shown), kMostScreenLines);
      std::size_t begin = 0;
      while (begin < shown.size()) {
        const std::size_t end = shown.find('\n', begin);
        EXPECT_LE(display_width(shown.substr(begin, end - begin)), columns) << shown;
        begin = end + 1;
      }
      const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
      EXPECT_TRUE(utf8 || std::ranges::all_of(shown, is_ascii)) << shown;
      if (utf8 && columns == kUsualColumns) text = shown;
    }
  }
  return text;
}

TEST(ExecScreen, IsTheGuidesTableAndASentence) { expect_golden(screens(training()), "screen.txt"); }

TEST(ExecScreen, HasRowsForEachMetricAsFarAsTheyFit) {
  expect_golden(screens(several_metrics()), "screen_metrics.txt");
}

TEST(ExecScreen, SaysWhoseSpeedUpARowHas) {
  const std::string shown = exec_screen(several_metrics(), "", {.columns = 200});
  EXPECT_THAT(shown, HasSubstr(" Speed-up of p2p "));
  EXPECT_THAT(shown, ContainsRegex("host .* 1\\.20x")) << "of a slower variant's row";
  EXPECT_THAT(exec_screen(training(), "", {.columns = 200}), Not(HasSubstr("Speed-up of")));
}

TEST(ExecScreen, NamesThePathThatNcclsLogDoes) {
  Record record = training();
  record.machine.links.front().nvlink = false;
  for (ProgramRun& run : record.runs) {
    for (GpuEvidence& gpu : run.evidence.gpus) {
      gpu.traffic = {};
      gpu.nvlink_reason = "no NVLink";
    }
    run.evidence.connections = {{run.variant == "p2p" ? "P2P/CUMEM" : "SHM/direct/direct", 0, 1}};
  }
  record.warnings.clear();
  conclude(record);
  EXPECT_THAT(record.warnings, testing::IsEmpty());
  const auto paths = [&] {
    const RunSummary summary(record);
    return fmt::format("{}\n", fmt::join(path_sentences(summary.cases.front()), "\n"));
  };
  std::string text = exec_screen(record, "", {.columns = 100}) + "\n" + paths();
  for (ProgramRun& run : record.runs) {
    if (run.variant == "p2p") run.evidence.connections.push_back({"SHM/direct/direct", 1, 2});
  }
  conclude(record);
  text += paths();
  for (ProgramRun& run : record.runs) {
    run.evidence.connections = {};
    run.evidence.engine_says = {"llama.cpp: all-reduce through host memory"};
  }
  conclude(record);
  text += paths();
  expect_golden(text, "screen_path.txt");
  EXPECT_THAT(exec_markdown(record), HasSubstr("\nA path by log"));
  EXPECT_THAT(exec_markdown(training()), Not(HasSubstr("\nA path by log")));
}

TEST(ExecScreen, FitsWhateverItHasToSay) {
  ExecOptions options = reported_options();
  std::map<std::string, Times> times{{"time", {}}};
  for (int i = 0; i < 12; ++i) {
    options.variants.push_back(fmt::format("a-variant-of-a-very-long-name-{}:X={}", i, i));
    times["time"].push_back(1.0 + i);
  }
  for (const std::string name : {"one", "two", "three", "four"}) {
    options.metrics.push_back(name + " is ([0-9.]+)");
    times[name] = times["time"];
  }
  const std::string shown = exec_screen(record_of(options, times), "Details: x", {.columns = 80});
  EXPECT_LT(line_count(shown), 50U) << "the table of one metric, and a sentence for each variant";
  EXPECT_THAT(shown, HasSubstr(": two, three, "));
}

TEST(ExecScreen, HasHowManyRunsCount) {
  const auto run = [&](const RunPlace& place) {
    RunReport report = report_of(place, {{"time", one_value(1.0 + 0.001 * place.round)}});
    if (place.variant == 1 && place.round == 2)
      report = {.place = place, .failure = "lost", .log = {}};
    return report;
  };
  const ExecOptions options = reported_options();
  const std::string shown =
      exec_screen(execute_double(options, make_exec_plan(options, kPath), run).record, "", {});
  EXPECT_THAT(shown, HasSubstr("  5 of 6"));
  EXPECT_THAT(shown, Not(ContainsRegex("[0-9]x"))) << "no figure stands beside the refusal";
}

TEST(ExecScreen, NamesNoDirectionOfOneRunEach) {
  ExecOptions options = reported_options();
  options.rounds = 1;
  const Record record = record_of(options, {{"time", {1.0, 1.2}}});
  for (const std::string& text :
       {exec_screen(record, "", {}), exec_card(record), exec_markdown(record), exec_page(record)}) {
    EXPECT_THAT(text, HasSubstr(": 1 run each"));
    EXPECT_THAT(text, Not(ContainsRegex("[0-9]x|slower|faster|less time|lower|higher")));
  }
}

TEST(ExecScreen, HasAWrongPathInRed) {
  Record record = training();
  EXPECT_THAT(exec_screen(record, "", {.color = true}), Not(HasSubstr("WRONG PATH")));
  record.warnings.push_back({"exec-path", "a path is wrong", ""});
  EXPECT_THAT(exec_screen(record, "", {.color = true}), HasSubstr("\033[31mWRONG PATH\033[0m, "));
  EXPECT_THAT(exec_screen(record, "", {}), HasSubstr("\nWRONG PATH, "));
}

TEST(ExecMarkdown, HasAllOfIt) { expect_golden(exec_markdown(several_metrics()), "report.md"); }

TEST(ExecMarkdown, HasTextOfOthersThatActsOnNothing) {
  Record record = training();
  record.machine.host = "a <img src=1>";
  record.started = "b <img src=2>";
  record.settings.program->command = {"c <img src=3>"};
  const std::string text = exec_markdown(record);
  for (const char* shown : {"a \\<img src=1>", "b \\<img src=2>", "c \\<img src=3>"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
}

TEST(ExecMarkdown, HasErrorsOfLinksWhereTheyWereCounted) {
  Record record = training();
  EXPECT_THAT(exec_markdown(record), Not(HasSubstr("## Health")));
  record.link_errors = {
      .readings = 13, .counters = {{{0, ErrorKind::nvlink_crc_errors, 3, 1}, 40, 0}}, .grown = {}};
  EXPECT_THAT(exec_markdown(record), HasSubstr("## Health\n\nLink errors:"));
  EXPECT_THAT(exec_page(record), HasSubstr("Link errors: none"));
}

TEST(ExecPage, BeginsWithThePictureOfTheMetricThatWasAskedFor) {
  const std::string page = exec_page(several_metrics());
  const std::size_t pictures = page.find("<section id=\"pictures\"");
  ASSERT_NE(pictures, std::string::npos);
  EXPECT_LT(pictures, page.find("<section id=\"metrics\""));
  EXPECT_LT(page.find("<figcaption>tokens: every run, and the mean"), pictures);
  for (const char* metric : {"time", "memory", "start-up", "step"}) {
    EXPECT_THAT(page.substr(pictures), HasSubstr(std::string(metric) + ": every run"));
  }
  EXPECT_THAT(page.substr(0, pictures), HasSubstr("<circle class=\"ring\""));
  EXPECT_THAT(page.substr(0, pictures), HasSubstr("12001 to 12023"))
      << "the smaller end first, though a sample of a rate is its inverse";
}

TEST(ExecPage, HasNoPicturesWhereNoRunCounts) {
  Record record = training();
  for (CaseResult& result : record.cases) {
    result.samples.clear();
    for (VariantResult& variant : result.variants) variant.time.reset();
  }
  record.machine.links.clear();
  EXPECT_THAT(exec_page(record), Not(HasSubstr("<section id=\"pictures\"")));
  EXPECT_THAT(exec_page(record), HasSubstr("no valid run"));
}

TEST(ExecCard, FitsIntoAnIssue) {
  ExecOptions alone = reported_options();
  alone.variants = {"p2p"};
  std::string cards;
  for (const Record& record :
       {training(), several_metrics(), record_of(alone, {{"time", {101.4}}})}) {
    const std::string card = exec_card(record);
    EXPECT_LE(line_count(card), kMostCardLines);
    cards += card;
  }
  test::expect_golden(cards, "cards.txt");
}

/// Returns the sentence at the end.
std::string answer_of(const Record& record) {
  const std::string text = exec_screen(record, "", {.columns = 1000});
  const std::size_t begin = text.rfind("\n\n");
  return text.substr(begin + 2, text.size() - begin - 3);
}

TEST(ExecAnswer, SaysWhatTheRunsSay) {
  Situations said;
  said.add("with NVLink", answer_of(training()));
  said.add("slower", answer_of(record_of(reported_options(), {{"time", {1.3, 1.0}}})));
  said.add("the same", answer_of(record_of(reported_options(), {{"time", {1.0, 1.0001}}})));
  ExecOptions options = reported_options();
  options.variants = {"a:NCCL_ALGO=Ring", "b:NCCL_ALGO=Tree"};
  said.add("variants by name", answer_of(record_of(options, {{"time", {1.0, 1.2}}})));
  options.metrics = {"loss=([0-9])"};
  said.add("lower is better",
           answer_of(record_of(options, {{"time", {1.0, 1.2}}, {"loss", {2.0, 2.5}}})));
  options.higher_is_better = {kOnlyMetric};
  said.add("higher is better",
           answer_of(record_of(options, {{"time", {1.0, 1.2}}, {"loss", {2.5, 2.0}}})));
  said.add("higher is better, and was lower",
           answer_of(record_of(options, {{"time", {1.0, 1.2}}, {"loss", {2.0, 5.0}}})));
  options = reported_options();
  options.arguments = {"host:--slow"};
  said.add("arguments differ besides P2P", answer_of(record_of(options, {{"time", {1.0, 1.2}}})));
  options = reported_options();
  options.metrics = {"loss=([0-9])", "ttft=([0-9])", "memory=([0-9])"};
  said.add("the first metric is the same, others are not",
           answer_of(record_of(options, {{"time", {1.0, 1.0001}},
                                         {"loss", {2.0, 2.0001}},
                                         {"ttft", {1.0, 1.1}},
                                         {"memory", {1.2, 1.0}}})));
  options = reported_options();
  options.metrics = {"loss=([0-9])"};
  const auto losses = [&](MetricValues with, MetricValues without) {
    const auto run = [&](const RunPlace& place) {
      return report_of(place, {{"time", one_value(1.0 + 0.001 * place.round)},
                               {"loss", place.variant == 0 ? with : without}});
    };
    return answer_of(execute_double(options, make_exec_plan(options, kPath), run).record);
  };
  said.add("the same number in all runs", losses(one_value(2.0), one_value(2.0)));
  said.add("other numbers, each in all runs", losses(one_value(2.0), one_value(4.0)));
  const MetricValues none{.missing = "no line matched"};
  said.add("no number of one variant", losses(one_value(2.0), none));
  said.add("no number at all", losses(none, none));
  options = reported_options();
  options.rounds = 1;
  said.add("one round", answer_of(record_of(options, {{"time", {1.0, 1.2}}})));
  options.metrics = {"loss=([0-9])"};
  said.add("one round with the same number",
           answer_of(record_of(options, {{"time", {1.0, 1.2}}, {"loss", {2.0, 2.0}}})));
  options.metrics.clear();
  options.variants = {"p2p"};
  said.add("one variant", answer_of(record_of(options, {{"time", {1.0}}})));
  said.add("one variant that failed", answer_of(record_of(options, {})));
  said.expect_golden("answers.txt");
}

TEST(ExecAnswer, BeginsWithWhatTookP2pFromTheVariantThatShouldHaveIt) {
  Record record = record_of(reported_options(), {{"time", {1.0, 1.0001}}});
  record.settings.environment_in_force.at(0)["NCCL_P2P_DISABLE"] = "1";
  record.warnings.clear();
  conclude(record);
  EXPECT_THAT(answer_of(record), StartsWith("p2p has NCCL_P2P_DISABLE=1"));
}

TEST(ExecReport, ShowsWhatEnginesAndNcclSayOfAnArm) {
  Record record = record_of(reported_options(), {{"time", {1.0, 1.2}}});
  const auto shown = [&] { return to_markdown(variants_section(record)); };
  EXPECT_THAT(shown(), Not(HasSubstr("algorithms"))) << "where the log says nothing of them";
  RunEvidence& evidence = record.runs.front().evidence;
  evidence.engine_says = {"vLLM: NCCL 2.25.1"};
  evidence.algorithms = {"rings", "NCCL_PROTO=LL"};
  EXPECT_THAT(shown(), ContainsRegex("NCCL 2.25.1\n.*: NCCL_PROTO=LL, rings"));
}

/// Gives each run what NCCL logs of its variant.
void log_paths(Record& record) {
  for (ProgramRun& run : record.runs) {
    const char* const transport = run.variant == "p2p" ? "P2P/CUMEM" : "SHM/direct/direct";
    run.evidence.connections = {{transport, 0, 1}};
  }
}

TEST(ExecAnswer, DoesNotSayWithoutP2pOfASwitchThatDoesNotReachTheEngine) {
  Record record = record_of(reported_options(), {{"time", {1.0, 1.2}}});
  const auto say = [&](const std::string& said) {
    for (ProgramRun& run : record.runs) run.evidence.engine_says = {said};
    record.warnings.clear();
    conclude(record);
  };
  const std::string staged = "llama.cpp: built without NCCL, all-reduce through host memory";
  const std::string own = "SGLang: all-reduce by kernels of its own";
  for (const std::string& said : {staged, own, std::string("llama.cpp: all-reduce by copies"),
                                  std::string("SGLang: NCCL 2.21.5")}) {
    say(said);
    EXPECT_THAT(answer_of(record), Not(testing::ContainsRegex("ith(out)? P2P"))) << said;
    EXPECT_THAT(exec_markdown(record), HasSubstr("| Variant |")) << said;
  }
  for (const auto& [said, path] : {std::pair(staged, Path::host_memory), {own, Path::engine}}) {
    say(said);
    EXPECT_EQ(std::ranges::count(record.warnings, "exec-no-change", &Warning::code), 1);
    EXPECT_THAT(exec_markdown(record), HasSubstr(readable_path(path)));
    EXPECT_EQ(record.cases[0].variants[0].path, path);
  }
  log_paths(record);
  say("vLLM: all-reduce by PYNCCL");
  EXPECT_THAT(exec_markdown(record), HasSubstr("| P2P |"));
}

TEST(ExecAnswer, ComparesNoP2pWhereTheDriverAllowsNone) {
  Record record = record_of(reported_options(), {{"time", {1.0, 1.0001}}});
  const auto link = [](int from, int to, bool p2p) {
    return PairLink{.from = from, .to = to, .p2p = p2p, .nvlink = false};
  };
  record.machine.links = {link(0, 1, false), link(0, 2, false), link(1, 2, false)};
  conclude(record);
  EXPECT_THAT(answer_of(record), StartsWith("P2P is on in"));
  EXPECT_THAT(answer_of(record), Not(HasSubstr("with and without P2P")));
  EXPECT_THAT(exec_markdown(record), HasSubstr("| Variant |"));
  EXPECT_EQ(std::ranges::count(record.warnings, "exec-no-nvlink", &Warning::code), 0);
  record.machine.links[1].p2p = true;
  record.warnings.clear();
  log_paths(record);
  conclude(record);
  EXPECT_THAT(answer_of(record), HasSubstr("with and without P2P")) << "two of them could";
}

TEST(ExecAnswer, BeginsWithWhatTheCommandDoesToTheVariables) {
  const auto record_with = [](const std::vector<std::string>& command, bool is_server) {
    ExecOptions options = reported_options();
    ExecPlan plan = make_exec_plan(options, kPath);
    plan.command = command;
    if (is_server) {
      options.server = "docker run -e NCCL_P2P_DISABLE=1 image";
      plan.server = ServerPlan{.command = split_words(options.server, ""),
                               .ready = LinePattern("ready", "--ready")};
    }
    return execute_double(options, plan, RunDouble([](const RunPlace& place) {
                            return report_of(place, {{"time", one_value(1.0)}});
                          }))
        .record;
  };
  const auto expect = [](const Record& record, const std::string& begin) {
    EXPECT_THAT(answer_of(record), StartsWith(begin));
    EXPECT_THAT(answer_of(record), Not(HasSubstr("with and without P2P")));
    EXPECT_THAT(exec_markdown(record), HasSubstr("| Variant |"));
  };
  const std::string forbidden = "p2p has NCCL_P2P_DISABLE=1 of your command, which forbids P2P";
  const std::vector<std::string> run{"docker", "run", "-e", "NCCL_P2P_DISABLE=1", "image"};
  std::vector<std::string> all = run;
  all.insert(all.begin() + 2, {"-e", "NCCL_NVLS_ENABLE=0", "-e", "NCCL_WIN_ENABLE=0"});
  expect(record_with(all, false), forbidden);
  expect(record_with(run, false), "p2p has");
  expect(record_with({"env", "NCCL_P2P_DISABLE=1", "train"}, false), forbidden);
  expect(record_with({"sh"}, true), "p2p has");
  expect(record_with({"docker", "exec", "box", "train"}, false),
         "NCCL_NVLS_ENABLE, NCCL_P2P_DISABLE, NCCL_WIN_ENABLE of ");
}

TEST(ExecAnswer, ExplainsATimeThatDoesNotShowTheChangeOfAMetric) {
  ExecOptions options = reported_options();
  options.metrics = {"rate=([0-9])"};
  options.higher_is_better = {kOnlyMetric};
  options.server = "sh serve.sh";
  options.ready = "ready";
  EXPECT_THAT(answer_of(record_of(options, {{"time", {1.0, 1.01}}, {"rate", {2.5, 2.0}}})),
              HasSubstr("client's whole run"));
  options = reported_options();
  options.step = "step";
  const auto of_steps = [&](double other_time) {
    return answer_of(record_of(
        options, {{"time", {50.0, other_time}}, {"start-up", {48.0, 48.1}}, {"step", {1.0, 1.2}}}));
  };
  EXPECT_THAT(of_steps(50.2), HasSubstr("(48.05 s of 50.05 s); step is"));
  EXPECT_THAT(of_steps(60.0), Not(HasSubstr("whole run")));
}

/// Covers losses that runs print.
TEST(ExecAnswer, ClaimsNothingThatItsRunsDoNotCarry) {
  Situations said;
  ExecOptions options = reported_options();
  options.variants = {"a:NCCL_ALGO=Ring", "b:NCCL_ALGO=Tree"};
  options.metrics = {"loss=([0-9])"};
  const auto add = [&](const std::string& situation, auto loss_of) {
    const auto run = [&](const RunPlace& place) {
      RunReport report = report_of(
          place, {{"time", one_value(1.0 + 0.001 * place.round)}, {"loss", loss_of(place)}});
      const bool failed = report.values.at("loss").missing == "lost";
      return failed ? RunReport{.place = place, .failure = "lost", .log = {}} : report;
    };
    said.add(situation,
             answer_of(execute_double(options, make_exec_plan(options, kPath), run).record));
  };
  const auto in_each = [](double first, double other, double unit) {
    return [=](const RunPlace& place) {
      const double number = place.variant == 0 ? first : other;
      return MetricValues{.samples = {number}, .resolution = unit / number};
    };
  };
  const auto in_one = [](const MetricValues& in_first, const MetricValues& in_even) {
    return [=](const RunPlace& place) {
      const bool even = place.round % 2 == 0;
      return place.variant == 0 && place.round == 2 ? in_first
             : place.variant == 1 && even           ? in_even
                                                    : one_value(2.0 + 0.001 * place.round);
    };
  };
  const MetricValues lost{.missing = "lost"};
  const MetricValues none{.missing = "no line matched"};
  const MetricValues good = one_value(2.0);
  add("few digits, another in each variant", in_each(3.0, 4.0, 1.0));
  add("enough digits, another in each variant", in_each(3.0, 4.0, 0.001));
  add("the same digits in all runs", in_each(3.0, 3.0, 0.001));
  add("constant in one variant", [](const RunPlace& place) {
    const double number = place.variant == 0 ? 3.0 : place.round % 2 == 0 ? 2.0 : 4.0;
    return MetricValues{.samples = {number}, .resolution = 0.01 / number};
  });
  add("a run failed", in_one(lost, good));
  add("every second run of one variant failed", in_one(good, lost));
  add("every second run of one variant gave no number", in_one(good, none));
  add("runs of both failed", in_one(lost, none));
  add("all runs of one variant failed",
      [&](const RunPlace& place) { return place.variant == 1 ? lost : good; });
  options.rounds = 2;
  add("another number in each variant, of two runs", in_each(3.0, 4.0, 0.001));
  options.budget = Seconds{1e-9};
  add("the budget holds one run of each variant", in_each(3.0, 4.0, 0.001));
  said.expect_golden("answers_of_odd_runs.txt");
}

}  // namespace
}  // namespace linkgain::test
