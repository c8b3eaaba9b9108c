#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scratch_folder.hpp"

/// Programs run as their users run them: as processes, with files and signals.
namespace linkgain::test {

std::vector<std::string> lines_of(const std::string& text);

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::optional<std::string>>;

/// Appends words to others.
inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Writes a command line as a golden names it.
inline std::string line_of(std::string program, const Words& words) {
  for (const std::string& word : words) program += " " + word;
  return program;
}

/// Writes a program as text, a script.
inline void write_executable(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// How a program came to its end.
struct Outcome {
  int status = 0;  ///< exit status, or 128 + the signal that ended it
  std::string output;
  std::string error;
  double seconds = 0.0;  ///< from its start
};

struct ProgramRequest {
  Words arguments{};  ///< the program, looked up on PATH, and what it is given
  /// Changes against this test's environment; absent takes a variable away.
  Variables environment{};
  std::filesystem::path directory = ".";
  bool has_input = false;  ///< a pipe for send(); else standard input is empty
};

/// A running program whose standard output and error go into files. Everything it starts, whatever
/// becomes of it, can be told by a variable in its environment; the destructor kills what is left.
class Program {
 public:
  explicit Program(const ProgramRequest& request);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t id() const { return id_; }

  void send(const std::string& line);
  void close_input();
  /// Returns the next line of standard output; throws std::runtime_error with the standard error if
  /// none comes within the time of an idle machine.
  std::string read_line(double seconds = 60.0);
  void signal(int number) const;

  std::string output() const { return read_text(scratch_ / "output"); }
  std::string error() const { return read_text(scratch_ / "error"); }
  bool is_running();

  /// Closes the input and waits; throws std::runtime_error where it does not end within the time of
  /// an idle machine.
  Outcome finish(double seconds = 120.0);

  /// Lists this program and all that it has started and that still runs, but no zombies.
  std::vector<pid_t> processes() const;
  /// Lists those of processes() that run `name`, by id.
  std::vector<pid_t> processes_named(const std::string& name) const;

 private:
  ScratchFolder scratch_;
  std::string mark_;
  pid_t id_ = -1;
  int input_ = -1;
  std::size_t read_ = 0;  ///< bytes of standard output that read_line() has given out
  std::optional<int> status_;
  double start_;
};

/// Runs a program to its end.
Outcome run_program(const ProgramRequest& request, double seconds = 120.0);

/// Returns monotonic seconds.
double now();
void pause_for(double seconds);

/// Returns how many processes want each processor, now or in the last minute, 1 at least. Limits of
/// time hold on an idle machine; a machine that others work on takes as many times longer.
double slowdown();

/// Says whether the condition came true within so many seconds of an idle machine.
template <typename Condition>
bool comes_true(Condition condition, double seconds) {
  const double end = now() + seconds * slowdown();
  while (!condition()) {
    if (now() > end) return false;
    pause_for(0.01);
  }
  return true;
}

/// Returns the processor time that a process has used so far; 0 if it is gone.
double processor_seconds(pid_t id);

bool is_on_path(const std::string& program);

}  // namespace linkgain::test
