#include "programs.hpp"
#include "redirection.hpp"
#include "support/pseudo_terminal.hpp"

/// Runs on terminals of several widths.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Shown {
  std::string written;
  Outcome outcome;
};

class RunScreen : public MpiTest {
 protected:
  /// `redirection` has the terminal's name in $tty.
  Shown run_on(unsigned short columns, const std::string& redirection,
               const std::map<std::string, std::optional<std::string>>& environment = {}) {
    PseudoTerminal terminal(columns);
    ProgramRequest request =
        run_request(folder_, {"--only", "all_reduce", "send_recv", "--sizes", "64,1K,64K",
                              "--precision", "0.5", "--budget", "60", "--launches", "3"});
    request.arguments.insert(request.arguments.begin(),
                             {"/bin/sh", "-c", "exec \"$@\" " + redirection, "sh"});
    request.environment = environment;
    request.environment.insert({{"tty", terminal.name()},
                                {"TERM", "xterm"},
                                {"LC_ALL", "C.UTF-8"},
                                {"NO_COLOR", std::nullopt},
                                {"COLUMNS", std::nullopt}});
    request.directory = folder_.path();
    Program program(request);
    while (program.is_running()) {
      terminal.read_on();
      pause_for(0.005);
    }
    Shown shown{.written = {}, .outcome = program.finish()};
    terminal.read_on();
    shown.written = terminal.written();
    return shown;
  }

  ScratchFolder folder_;
};

TEST_F(RunScreen, ProgressStaysWithinOneLineOfTheTerminal) {
  for (const unsigned short columns : {45, 60, 80, 200}) {
    const Shown shown = run_on(columns, "2>$tty");
    ASSERT_EQ(shown.outcome.status, 0) << shown.written;
    const std::vector<std::string> lines = lines_of(shown.written);
    // The first says what was started, and is as long as the host's name makes it.
    const Screen screen = screen_of(shown.written.substr(shown.written.find('\n') + 1));
    EXPECT_LT(screen.widest, columns) << shown.written;
    EXPECT_LE(screen.erased, 10 * shown.outcome.seconds + 2) << columns;
    EXPECT_GE(screen.erased, 2) << columns;
    for (const char* row : {"all_reduce 64 B ", "all_reduce 64 KiB ", "send_recv 1 KiB "}) {
      EXPECT_THAT(screen.lines, testing::Contains(testing::StartsWith(row))) << columns;
    }
    EXPECT_EQ(screen.lines.back(), "") << "a line was left behind";
  }
}

TEST_F(RunScreen, DumbTerminalsGetPlainLines) {
  const Shown shown = run_on(80, ">$tty 2>&1", {{"TERM", "dumb"}});
  EXPECT_EQ(shown.outcome.status, 0);
  EXPECT_THAT(shown.written, Not(HasSubstr("\033")));
  EXPECT_THAT(shown.written, HasSubstr("[  1/18] launch 1 of 3, all_reduce/float32/sum/64B/np2: "));
}

}  // namespace
}  // namespace linkgain::test
