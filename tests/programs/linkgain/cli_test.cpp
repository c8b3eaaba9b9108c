#include "cli.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Request parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "linkgain");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

RunOptions run_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  return std::get<RunOptions>(parse(arguments));
}

ReportOptions report_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  return std::get<ReportOptions>(parse(arguments));
}

std::string text_of(std::vector<std::string> arguments) {
  return std::get<TextRequest>(parse(std::move(arguments))).text;
}

std::string refusal(std::vector<std::string> arguments) {
  try {
    parse(std::move(arguments));
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  return "accepted";
}

std::string run_refusal(const std::string& option, const std::string& value) {
  return refusal({"run", option, value});
}

TEST(CommandLine, OfRunAloneAsksForNothing) {
  const RunOptions options = run_with({});
  EXPECT_THAT(options.argv, ElementsAre("linkgain", "run"));
  EXPECT_FALSE(options.backend);
  EXPECT_EQ(options.profile, Profile::standard);
  EXPECT_THAT(options.operations, IsEmpty());
  EXPECT_THAT(options.sizes, IsEmpty());
  EXPECT_THAT(options.variants, IsEmpty());
  EXPECT_FALSE(options.ranks || options.budget || options.launches || options.sequential ||
               options.out || options.hostfile || options.pair || options.in_place);
  EXPECT_FALSE(options.json || options.quiet || options.require_healthy);
  EXPECT_TRUE(options.color);
  EXPECT_EQ(options.precision, 0.01);
  EXPECT_EQ(options.deadline, Seconds{60});
  EXPECT_EQ(options.launcher, "mpirun");
}

TEST(CommandLine, SelectsWhatIsMeasured) {
  const RunOptions options = run_with({"--only",      "send_recv,all_reduce",
                                       "--sizes",     "8:1K:x4",
                                       "--type",      "int8,float16",
                                       "--reduction", "max",
                                       "--launch",    "stream,graph",
                                       "--pattern",   "one-way",
                                       "--pair",      "1-0",
                                       "--root",      "0,2",
                                       "--buffers",   "plain,symmetric",
                                       "--in-place",  "--profile",
                                       "full"});
  EXPECT_THAT(options.operations, ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(options.sizes.size(), 5U);
  EXPECT_THAT(options.types, ElementsAre(DataType::int8, DataType::float16));
  EXPECT_THAT(options.reductions, ElementsAre(Reduction::max));
  EXPECT_THAT(options.launch_modes, ElementsAre(LaunchMode::stream, LaunchMode::graph));
  EXPECT_THAT(options.patterns, ElementsAre(Pattern::one_way));
  EXPECT_EQ(options.pair, (Pair{1, 0, false}));
  EXPECT_THAT(options.roots, ElementsAre(0, 2));
  EXPECT_THAT(options.buffers, ElementsAre(Buffers::plain, Buffers::symmetric));
  EXPECT_TRUE(options.in_place);
  EXPECT_EQ(options.profile, Profile::full);
}

TEST(CommandLine, SaysHowJobsAreRun) {
  const RunOptions options = run_with({"--backend",  "mpi",
                                       "--gpus",     "2,0",
                                       "--np",       "4",
                                       "--variant",  "p2p",
                                       "--variant",  "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL",
                                       "--launches", "3",
                                       "--schedule", "sequential",
                                       "--launcher", "/opt/mpirun",
                                       "--hostfile", "hosts",
                                       "--deadline", "5.5"});
  EXPECT_EQ(options.backend, BackendKind::mpi);
  EXPECT_THAT(options.gpus, ElementsAre(2, 0));
  EXPECT_EQ(options.ranks, 4);
  EXPECT_THAT(options.variants, ElementsAre("p2p", "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL"));
  EXPECT_EQ(options.launches, 3);
  EXPECT_EQ(options.sequential, true);
  EXPECT_EQ(options.launcher, "/opt/mpirun");
  EXPECT_EQ(options.hostfile, "hosts");
  EXPECT_EQ(options.deadline, Seconds{5.5});
  EXPECT_EQ(run_with({"--schedule", "paired"}).sequential, false);
}

TEST(CommandLine, SaysWhatComesOut) {
  const RunOptions options = run_with({"--budget", "90.5", "--precision", "0.02", "--out", "here",
                                       "--json", "--quiet", "--no-color", "--require-healthy"});
  EXPECT_EQ(options.budget, Seconds{90.5});
  EXPECT_EQ(options.precision, 0.02);
  EXPECT_EQ(options.out, "here");
  EXPECT_TRUE(options.json && options.quiet && options.require_healthy);
  EXPECT_FALSE(options.color);
}

TEST(CommandLine, KeepsZeroAndBelowForThePlanToRefuse) {
  EXPECT_EQ(run_with({"--np", "-1"}).ranks, -1);
  EXPECT_EQ(run_with({"--launches", "0"}).launches, 0);
  EXPECT_EQ(run_with({"--budget", "0"}).budget, Seconds{0});
}

TEST(CommandLine, OfReport) {
  EXPECT_EQ(report_with({"a/record.json"}).record, "a/record.json");
  EXPECT_EQ(report_with({"r"}).format, ReportOptions::Format::markdown);
  EXPECT_EQ(report_with({"r", "--format", "csv"}).format, ReportOptions::Format::csv);
  EXPECT_EQ(report_with({"r", "--format", "json"}).format, ReportOptions::Format::json);
  EXPECT_EQ(report_with({"r", "--json"}).format, ReportOptions::Format::json);
  EXPECT_THAT(refusal({"report"}), HasSubstr("record is required"));
  EXPECT_THAT(refusal({"report", "r", "--format", "cvs"}), HasSubstr("did you mean csv?"));
}

TEST(CommandLine, OfCompare) {
  const auto compare_with = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    return std::get<CompareCommandOptions>(parse(std::move(arguments)));
  };
  const CompareCommandOptions plain = compare_with({"a.json", "b.json"});
  EXPECT_THAT(plain.runs, ElementsAre("a.json", "b.json"));
  EXPECT_EQ(plain.format, OutputFormat::table);
  EXPECT_EQ(plain.metric, Metric::time);
  EXPECT_EQ(plain.compare.threshold, 0.02);
  const CompareCommandOptions full =
      compare_with({"a", "b", "c", "--metric", "busbw", "--format", "md", "--only",
                    "send_recv,all_reduce", "--threshold", "5%"});
  EXPECT_THAT(full.runs, ElementsAre("a", "b", "c"));
  EXPECT_EQ(full.format, OutputFormat::markdown);
  EXPECT_EQ(full.metric, Metric::busbw);
  EXPECT_EQ(full.compare.threshold, 0.05);
  EXPECT_THAT(full.compare.operations,
              ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(compare_with({"a", "b", "--json"}).format, OutputFormat::json);
  EXPECT_THAT(refusal({"compare"}), HasSubstr("runs is required"));
  EXPECT_EQ(refusal({"compare", "a"}), "compare needs two runs or more");
  EXPECT_THAT(refusal({"compare", "a", "b", "--metric", "busw"}), HasSubstr("did you mean busbw?"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--format", "mdd"}), HasSubstr("did you mean md?"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--threshold", "80%"}), HasSubstr("0.1 % to 50 %"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--threshold", "few"}), HasSubstr("'few'"));
}

TEST(CommandLine, OfFleet) {
  const auto plain = std::get<FleetCommandOptions>(parse({"fleet", "nodes"}));
  EXPECT_THAT(plain.records, ElementsAre("nodes"));
  EXPECT_EQ(plain.format, OutputFormat::table);
  EXPECT_EQ(plain.fleet.tolerance, 0.05);
  EXPECT_THAT(plain.fleet.expected, IsEmpty());
  const auto full = std::get<FleetCommandOptions>(
      parse({"fleet", "a", "b", "--expect", "n[1-2],m", "--tolerance", "10%", "--format", "csv"}));
  EXPECT_THAT(full.records, ElementsAre("a", "b"));
  EXPECT_THAT(full.fleet.expected, ElementsAre("n1", "n2", "m"));
  EXPECT_EQ(full.fleet.tolerance, 0.1);
  EXPECT_EQ(full.format, OutputFormat::csv);
  EXPECT_THAT(refusal({"fleet"}), HasSubstr("records is required"));
  EXPECT_THAT(refusal({"fleet", "a", "--expect", "n[1-"}), HasSubstr("bracket is not closed"));
  EXPECT_THAT(refusal({"fleet", "a", "--tolerance", "0"}), HasSubstr("--tolerance '0'"));
}

TEST(CommandLine, OfTopo) {
  EXPECT_FALSE(std::get<TopoOptions>(parse({"topo"})).json);
  EXPECT_TRUE(std::get<TopoOptions>(parse({"topo", "--json"})).json);
  EXPECT_EQ(refusal({"topo", "--jsno"}), "unknown option '--jsno': did you mean --json?");
  EXPECT_EQ(refusal({"topo", "-m"}).substr(0, 21), "unknown option '-m': ");
  EXPECT_EQ(refusal({"topo", "all"}), "linkgain topo takes no 'all'");
}

TEST(CommandLine, OfDoctor) {
  const auto plain = std::get<DoctorOptions>(parse({"doctor"}));
  EXPECT_TRUE(!plain.json && !plain.load && plain.color);
  const auto full = std::get<DoctorOptions>(parse({"doctor", "--load", "--json", "--no-color"}));
  EXPECT_TRUE(full.json && full.load && !full.color);
  EXPECT_EQ(refusal({"doctor", "--laod"}), "unknown option '--laod': did you mean --load?");
  EXPECT_EQ(refusal({"doctor", "now"}), "linkgain doctor takes no 'now'");
}

TEST(Help, OfEachCommandHasTwoExamples) {
  for (const char* command :
       {"run", "topo", "doctor", "compare", "baseline", "check", "fleet", "report"}) {
    const std::string help = text_of({command, "--help"});
    const std::size_t examples = help.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << command;
    const std::string example = std::string("\n  linkgain ") + command;
    const std::size_t first = help.find(example, examples);
    ASSERT_NE(first, std::string::npos) << command;
    EXPECT_NE(help.find(example, first + 1), std::string::npos) << command;
    EXPECT_THAT(help, HasSubstr("--json"));
  }
}

TEST(Help, OfRunNamesEveryOption) {
  const std::string help = text_of({"run", "--help"});
  for (const char* option :
       {"--backend",  "--only",     "--sizes",    "--type",     "--reduction",
        "--launch ",  "--pattern",  "--pair",     "--in-place", "--profile",
        "--gpus",     "--np",       "--variant",  "--launches", "--schedule",
        "--launcher", "--hostfile", "--deadline", "--budget",   "--precision",
        "--out",      "--json",     "--quiet",    "--no-color", "--require-healthy"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
}

TEST(Help, OfTheProgramListsCommandsAndExitStatuses) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, std::vector<std::string>{"--help"}}) {
    EXPECT_THAT(text_of(arguments),
                AllOf(HasSubstr("run"), HasSubstr("topo"), HasSubstr("doctor"), HasSubstr("report"),
                      HasSubstr("4 wrong data"), HasSubstr("128+n")));
  }
}

TEST(Version, SaysWhatWasBuilt) {
  EXPECT_THAT(text_of({"--version"}),
              AllOf(HasSubstr("linkgain " + build_info().version), HasSubstr(build_info().text)));
}

TEST(CommandLine, RefusesUnknownNamesWithTheNearest) {
  EXPECT_THAT(run_refusal("--backend", "ncl"), HasSubstr("did you mean nccl?"));
  EXPECT_THAT(run_refusal("--profile", "ful"), HasSubstr("did you mean full?"));
  EXPECT_THAT(run_refusal("--only", "all_reduc"), HasSubstr("did you mean all_reduce?"));
  EXPECT_THAT(run_refusal("--type", "float23"), HasSubstr("did you mean float32?"));
  EXPECT_THAT(run_refusal("--reduction", "mx"), HasSubstr("did you mean max?"));
  EXPECT_THAT(run_refusal("--launch", "grpah"), HasSubstr("did you mean graph?"));
  EXPECT_THAT(run_refusal("--pattern", "one_way"), HasSubstr("did you mean one-way?"));
  EXPECT_THAT(run_refusal("--schedule", "pair"), HasSubstr("did you mean paired?"));
}

TEST(CommandLine, RefusesBadValuesWithTheAcceptedForm) {
  EXPECT_THAT(run_refusal("--sizes", "0"), HasSubstr("size '0' is zero"));
  EXPECT_THAT(run_refusal("--sizes", "-8"), HasSubstr("size '-8' is no size"));
  EXPECT_THAT(run_refusal("--sizes", "1Q"), HasSubstr("size '1Q' is no size"));
  EXPECT_THAT(run_refusal("--sizes", ""), HasSubstr("sizes"));
  EXPECT_THAT(run_refusal("--gpus", "0,x"), HasSubstr("'x' is no GPU number"));
  EXPECT_THAT(run_refusal("--gpus", ""), HasSubstr("--gpus"));
  EXPECT_THAT(run_refusal("--pair", "0+1"), HasSubstr("two ranks such as 0-1"));
  EXPECT_THAT(run_refusal("--np", "two"), HasSubstr("--np"));
  EXPECT_THAT(run_refusal("--launches", "2.5"), HasSubstr("--launches"));
}

TEST(CommandLine, RefusesUnknownOptionsAndCommandsWithTheNearest) {
  EXPECT_EQ(refusal({"run", "--size", "8"}), "unknown option '--size': did you mean --sizes?");
  EXPECT_EQ(refusal({"run", "--varaint=p2p"}),
            "unknown option '--varaint': did you mean --variant?");
  EXPECT_EQ(refusal({"report", "r", "--csv"}).substr(0, 24), "unknown option '--csv': ");
  EXPECT_EQ(
      refusal({"rum"}),
      "unknown command 'rum': did you mean run? (run, topo, doctor, compare, baseline, check, "
      "fleet, report)");
  EXPECT_EQ(refusal({"topology"}).substr(0, 44), "unknown command 'topology': did you mean top");
  EXPECT_THAT(refusal({"docter"}), HasSubstr("did you mean doctor?"));
  EXPECT_EQ(refusal({"--verison"}), "unknown option '--verison': did you mean --version?");
  EXPECT_EQ(refusal({"run", "quick"}), "linkgain run takes no 'quick'");
}

TEST(CommandLine, ErrorsPointToTheHelpOfTheirCommand) {
  try {
    parse({"run", "--size", "8"});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.advice(), "see linkgain run --help");
  }
}

TEST(CommandLine, RefusesAnOptionWithoutItsValue) {
  EXPECT_THAT(refusal({"run", "--out"}), HasSubstr("--out"));
  EXPECT_THAT(refusal({"run", "--np", "2", "--np", "3"}), HasSubstr("--np"));
}

}  // namespace
}  // namespace linkgain
