#include <algorithm>
#include <chrono>

#include "linkgain/base/text.hpp"
#include "programs.hpp"
#include "redirection.hpp"
#include "support/pseudo_terminal.hpp"

/// Runs on terminals of several widths.
namespace linkgain::test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr unsigned short kWidths[] = {45, 60, 80, 200};

class RunScreen : public MpiTest {
 protected:
  /// Runs on a terminal, whose name `redirection` has in $tty.
  Shown run_on(unsigned short columns, const std::string& redirection,
               const Variables& environment = {}) {
    ProgramRequest request =
        run_request(folder_, {"--only", "all_reduce", "send_recv", "--sizes", "64,1K,64K",
                              "--ci-width", "0.5", "--budget", "60", "--launches", "2"});
    request.environment = environment;
    return run_on_terminal(columns, "exec \"$@\" " + redirection, request);
  }

  /// Expects the last 24 lines or fewer, behind a blank one, to begin with the machine and end with
  /// the answer.
  static void expect_screen(const Words& lines) {
    auto end = lines.end();
    while (end != lines.begin() && end[-1].empty()) --end;
    ASSERT_NE(end, lines.begin());
    const auto machine = std::find_if(
        lines.begin(), end, [](const std::string& line) { return line.starts_with("2 ranks"); });
    ASSERT_NE(machine, end);
    EXPECT_LE(end - machine, 24);
    const auto answer = std::find(std::make_reverse_iterator(end), lines.rend(), "").base();
    EXPECT_THAT(*answer, AnyOf(StartsWith("Shared memory "), StartsWith("Inconclusive: "),
                               StartsWith("Disturbed: ")));
    EXPECT_TRUE(end[-1].ends_with('.')) << end[-1];
  }

  ScratchFolder folder_;
};

/// Covers the narrowest and the widest; screen_test has the results on those between.
TEST_F(RunScreen, StaysWithinTheTerminalAndEndsWithTheAnswer) {
  for (const unsigned short columns : {kWidths[0], kWidths[3]}) {
    const Shown shown = run_on(columns, ">$tty 2>&1");
    ASSERT_EQ(shown.outcome.status, 0) << shown.written;
    const Screen screen = screen_of(shown.written);
    EXPECT_LE(screen.widest, columns) << shown.written;
    EXPECT_LE(screen.erased, 10 * shown.outcome.seconds + 2) << columns;
    EXPECT_GE(screen.erased, 2) << columns;
    for (const char* row : {"all_reduce 64 B ", "all_reduce 64 KiB ", "send_recv 1 KiB "}) {
      EXPECT_THAT(screen.lines, Contains(StartsWith(row))) << columns;
    }
    EXPECT_THAT(shown.written, HasSubstr("s left")) << columns;
    expect_screen(screen.lines);
  }
}

TEST_F(RunScreen, IsThereInAPipeToo) {
  const Outcome outcome =
      in_shell(folder_, "LC_ALL=C \"$@\" 2>progress | cat",
               run_request(folder_, {"--only", "all_reduce", "--sizes", "64K", "--budget", "60"}));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\033")));
  EXPECT_TRUE(std::ranges::all_of(outcome.output, [](char c) {
    return static_cast<signed char>(c) > 0;
  })) << outcome.output;
  expect_screen(lines_of(outcome.output));
  EXPECT_THAT(lines_of(read_text(folder_ / "progress")), SizeIs(testing::Ge(2)));
}

/// Shows a record's report on a terminal of so many columns.
std::string report_on(unsigned short columns, const std::string& command,
                      const Variables& environment) {
  ProgramRequest request{.environment = environment};
  request.environment.insert({{"PAGER", "cat"}, {"LINKGAIN", LINKGAIN}});
  const Shown shown = run_on_terminal(columns, "exec <$tty >$tty; exec " + command, request);
  EXPECT_THAT(shown.outcome.status, AnyOf(0, 1, 7)) << "1: topo finds a link that is down; 7: "
                                                       "fleet judges no two runs of one machine";
  return shown.written;
}

const std::string kReport = "\"$LINKGAIN\" report " RESULTS_FOLDER "/2xH200-node-1";

TEST(ReportOnATerminal, FitsItsWidth) {
  for (const unsigned short columns : kWidths) {
    const Screen screen = screen_of(report_on(columns, kReport, {}));
    EXPECT_LE(screen.erased, 0);
    for (const std::string& line : screen.lines) {
      // What is to be copied is never broken.
      const bool copied = line.find('=') != std::string::npos || line.starts_with("Record: ") ||
                          line.starts_with("    /") ||
                          line.find("linkgain run") != std::string::npos;
      if (copied) continue;
      EXPECT_LE(display_width(line), columns) << line;
    }
    EXPECT_THAT(screen.lines, Contains(StartsWith("NVLink makes send-recv both ways at once")));
    EXPECT_THAT(screen.lines, Contains("By size"));
  }
}

TEST(ReportOnATerminal, HasColoursUnlessForbidden) {
  EXPECT_THAT(report_on(80, kReport, {}), HasSubstr("\033[32m11.0x\033[0m"));
  const Variables forbidding[] = {{{"NO_COLOR", "1"}}, {{"CLICOLOR", "0"}}, {{"TERM", "dumb"}}};
  for (const auto& environment : forbidding) {
    const std::string written = report_on(80, kReport, environment);
    EXPECT_THAT(written, Not(HasSubstr("\033"))) << environment.begin()->first;
    EXPECT_THAT(written, HasSubstr("11.0x   11.0"));
  }
  EXPECT_THAT(report_on(80, kReport + " --no-color", {}), Not(HasSubstr("\033")));
}

const std::string kBoth = RESULTS_FOLDER "/2xH200-node-1 " RESULTS_FOLDER "/2xH200-node-2";

class TablesOnATerminal : public ::testing::Test {
 protected:
  TablesOnATerminal() {
    const std::string baseline = (folder_ / "good.json").string();
    const Outcome made =
        run_linkgain(folder_, {"baseline", RESULTS_FOLDER "/2xH200-node-1", "-o", baseline});
    EXPECT_EQ(made.status, 0) << made.error;
    baseline_ = "\"$LINKGAIN\" baseline " RESULTS_FOLDER "/2xH200-node-1 -o " + baseline;
    check_ = "\"$LINKGAIN\" check " RESULTS_FOLDER "/2xH200-node-2 --baseline " + baseline;
  }

  ScratchFolder folder_;
  std::string baseline_;
  std::string check_;
  std::string compare_ = "\"$LINKGAIN\" compare " + kBoth;
};

TEST_F(TablesOnATerminal, FitItsWidth) {
  for (const std::string& command : {compare_, check_, baseline_, "\"$LINKGAIN\" fleet " + kBoth,
                                     std::string("\"$LINKGAIN\" list " RESULTS_FOLDER)}) {
    for (const unsigned short columns : {kWidths[1], kWidths[2]}) {
      for (const std::string& line : screen_of(report_on(columns, command, {})).lines) {
        const bool path =
            line.find(RESULTS_FOLDER "/") != std::string::npos || line.starts_with("baseline: ");
        EXPECT_TRUE(path || display_width(line) <= columns) << command << ": " << line;
      }
    }
  }
}

TEST_F(TablesOnATerminal, HaveColouredVerdictsUnlessForbidden) {
  constexpr const char* kYellow = "\033[33minconclusive\033[0m";
  EXPECT_THAT(report_on(80, check_, {}), HasSubstr(kYellow));
  EXPECT_THAT(report_on(100, compare_, {}), HasSubstr(kYellow));
  EXPECT_THAT(report_on(80, check_, {{"NO_COLOR", "1"}}), Not(HasSubstr("\033")));
}

TEST(TopoOnATerminal, HasAColouredVerdictUnlessForbidden) {
  const Variables double_of_nvml{{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE},
                                 {"LINKGAIN_NVML_SCENARIO", "one-link-down"}};
  auto forbidden = double_of_nvml;
  forbidden["NO_COLOR"] = "1";
  const std::string topo = "\"$LINKGAIN\" topo";
  EXPECT_THAT(report_on(80, topo, double_of_nvml), HasSubstr("\033[31mproblem:\033[0m "));
  EXPECT_THAT(report_on(80, topo, forbidden),
              testing::AllOf(HasSubstr("problem: "), Not(HasSubstr("\033"))));
}

TEST(ReportOnATerminal, IsAsciiInTheLocaleC) {
  for (const std::string& command : {kReport, "\"$LINKGAIN\" compare " + kBoth}) {
    const std::string written = report_on(80, command, {{"LC_ALL", "C"}});
    EXPECT_TRUE(std::ranges::all_of(written, [](char c) {
      return static_cast<signed char>(c) > 0;
    })) << written;
    EXPECT_THAT(written, testing::ContainsRegex("[0-9]-[0-9.]+x"));
  }
}

TEST(ReportOnATerminal, GoesThroughThePager) {
  EXPECT_THAT(report_on(80, kReport, {{"PAGER", "sed 's/^/paged: /'"}}),
              HasSubstr("paged: Path: NVLink"));
  for (const char* failing : {"no-such-pager-is-here 2>/dev/null", "false", "kill -SEGV $$"}) {
    EXPECT_THAT(report_on(80, kReport, {{"PAGER", failing}}), HasSubstr("Path: NVLink")) << failing;
  }
  for (const char* without : {" --no-pager", " </dev/null"}) {
    EXPECT_THAT(report_on(80, kReport + without, {{"PAGER", "sed 's/^/paged: /'"}}),
                testing::AllOf(HasSubstr("Path: NVLink"), Not(HasSubstr("paged: "))))
        << without;
  }
}

TEST(ReportInMarkdown, IsAsciiInTheLocaleCButInAFile) {
  const ScratchFolder folder;
  const auto is_ascii = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
  };
  const auto shown = [&](const std::string& locale, const std::string& end) {
    return with_status(0, run_program({.arguments = {"sh", "-c", kReport + " --format md" + end},
                                       .environment = {{"LC_ALL", locale}, {"LINKGAIN", LINKGAIN}},
                                       .directory = folder.path()}))
        .output;
  };
  EXPECT_TRUE(is_ascii(shown("C", " | cat")));
  EXPECT_FALSE(is_ascii(shown("C.UTF-8", " | cat")));
  EXPECT_FALSE(is_ascii(shown("C", " > report.md && cat report.md")));
}

TEST(ErrorMessages, AreAsciiInTheLocaleC) {
  const auto said = [](const std::string& locale) {
    return run_program(
               {.arguments = {LINKGAIN, "report", "1–2.json"}, .environment = {{"LC_ALL", locale}}})
        .error;
  };
  EXPECT_THAT(said("C"), HasSubstr("1-2.json"));
  EXPECT_THAT(said("C.UTF-8"), HasSubstr("1–2.json"));
}

TEST(ReportOnATerminal, IsOfTheLatestRunUnlessOneIsNamed) {
  const ScratchFolder folder;
  const std::filesystem::path records = RESULTS_FOLDER;
  const auto later = std::filesystem::file_time_type::clock::now();
  for (const std::string name : {"2xH200-node-1", "2xH200-node-2"}) {
    const std::filesystem::path copy = folder / "results" / name / "record.json";
    std::filesystem::create_directories(copy.parent_path());
    std::filesystem::copy_file(records / name / "record.json", copy);
    // Not the file written last: a copy or a touch makes no run.
    const bool written_last = name == "2xH200-node-1";
    std::filesystem::last_write_time(copy, written_last ? later : later - std::chrono::hours(1));
  }
  const Outcome outcome = with_status(0, run_linkgain(folder, {"report", "--format", "table"}));
  EXPECT_THAT(outcome.output, HasSubstr("Record: results/2xH200-node-2\n"));
}

TEST_F(RunScreen, DumbTerminalsGetPlainLines) {
  const Shown shown = run_on(80, ">$tty 2>&1", {{"TERM", "dumb"}});
  EXPECT_EQ(shown.outcome.status, 0);
  EXPECT_THAT(shown.written, Not(HasSubstr("\033")));
  EXPECT_THAT(shown.written, HasSubstr("[  1/12] all_reduce 64 KiB: "));
  for (const std::string& line : screen_of(shown.written).lines) {
    EXPECT_LE(display_width(line), 80U) << line;
  }
}

}  // namespace
}  // namespace linkgain::test
