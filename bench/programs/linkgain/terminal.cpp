#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1 && variable("TERM") != "dumb"; }

std::size_t columns_of(int descriptor) {
  const std::size_t own = terminal_columns(descriptor);
  if (own != kAnyColumns) return own;
  const long columns = std::strtol(variable("COLUMNS").c_str(), nullptr, 10);
  return columns > 0 ? static_cast<std::size_t>(columns) : kUsualColumns;
}

bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = variable(name);
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string in_locale(const std::string& text) { return has_utf8() ? text : in_ascii(text); }

std::string document_text(const std::string& markdown) {
  struct stat output {};
  const bool file = ::fstat(STDOUT_FILENO, &output) == 0 && S_ISREG(output.st_mode);
  return file ? markdown : in_locale(markdown);
}

void show(const std::string& text, bool pager) {
  const std::string shown = in_locale(text);
  const std::string program = std::getenv("PAGER") != nullptr ? variable("PAGER") : "less";
  winsize size{};
  const auto lines = std::ranges::count(text, '\n');
  const bool long_text = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && lines >= size.ws_row;
  const bool usable = pager && is_terminal(STDOUT_FILENO) && ::isatty(STDIN_FILENO) == 1;
  if (!usable || !long_text || program.empty() || program == "cat") {
    fmt::print("{}", shown);
    return;
  }
  std::fflush(stdout);
  ::setenv("LESS", "FRX", 0);  // as git: colours, no pager for what fits
  const auto former = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* const pipe = ::popen(program.c_str(), "w");
  if (pipe != nullptr) std::fwrite(shown.data(), 1, shown.size(), pipe);
  const int status = pipe != nullptr ? ::pclose(pipe) : -1;
  std::signal(SIGPIPE, former);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fmt::print("{}", shown);
}

}  // namespace linkgain
