#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace linkgain::test {

/// A terminal of so many columns, whose name a program can be given as its output.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) : end_(posix_openpt(O_RDWR | O_NOCTTY)) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (end_ < 0 || grantpt(end_) != 0 || unlockpt(end_) != 0 ||
        ioctl(end_, TIOCSWINSZ, &size) != 0) {
      throw std::runtime_error("no pseudo-terminal");
    }
    name_ = ptsname(end_);
    held_ = open(name_.c_str(), O_RDWR | O_NOCTTY);  // else reading fails between two programs
    fcntl(end_, F_SETFL, O_NONBLOCK);
  }
  ~PseudoTerminal() {
    close(held_);
    close(end_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  const std::string& name() const { return name_; }

  /// Takes in what was written until now.
  void read_on() {
    std::array<char, 4096> chunk;
    for (ssize_t count = 1; count > 0;) {
      count = read(end_, chunk.data(), chunk.size());
      if (count > 0) written_.append(chunk.data(), static_cast<std::size_t>(count));
    }
  }
  const std::string& written() const { return written_; }

 private:
  int end_;
  int held_ = -1;
  std::string name_;
  std::string written_;
};

/// What a program writes to a terminal of so many columns, and how it ends. Its shell's script has
/// the terminal's name in $tty, and the program in "$@".
struct Shown {
  std::string written;
  Outcome outcome;
};

inline Shown run_on_terminal(unsigned short columns, const std::string& script,
                             ProgramRequest request) {
  PseudoTerminal terminal(columns);
  request.arguments = joined({"/bin/sh", "-c", script, "sh"}, request.arguments);
  request.environment.insert({{"tty", terminal.name()},
                              {"TERM", "xterm"},
                              {"LC_ALL", "C.UTF-8"},
                              {"NO_COLOR", std::nullopt},
                              {"CLICOLOR", std::nullopt},
                              {"COLUMNS", std::nullopt}});
  Program program(request);
  while (program.is_running()) {
    terminal.read_on();
    pause_for(0.005);
  }
  const Outcome outcome = program.finish();
  terminal.read_on();
  return {terminal.written(), outcome};
}

/// What is on a screen that is wide enough for all that was written, colours left out: its lines,
/// and the widest that a line ever was.
struct Screen {
  std::vector<std::string> lines{""};
  std::size_t widest = 0;
  int erased = 0;  ///< times that a line was
};

inline Screen screen_of(std::string_view written) {
  Screen screen;
  std::size_t column = 0;
  bool at_begin = false;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if (c == '\r') {
      at_begin = true;
      column = 0;
    } else if (c == '\n') {
      screen.lines.emplace_back();
      at_begin = false;
      column = 0;
    } else if (written.substr(i).starts_with("\033[K")) {
      if (at_begin) screen.lines.back().clear();
      ++screen.erased;
      i += 2;
    } else if (c == '\033') {
      i = written.find('m', i);
    } else {
      if (at_begin) screen.lines.back().clear();
      at_begin = false;
      screen.lines.back() += c;
      column += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
      screen.widest = std::max(screen.widest, column);
    }
  }
  return screen;
}

}  // namespace linkgain::test
