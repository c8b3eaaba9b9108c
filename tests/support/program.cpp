#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace linkgain::test {
namespace {

constexpr std::string_view kMark = "LINKGAIN_TEST_PROGRAM";

/// Reads a running process's environment or name; empty for zombies and if it is gone.
std::string read_process(pid_t id, const std::string& file) {
  return read_text(std::filesystem::path("/proc") / std::to_string(id) / file);
}

bool is_zombie(pid_t id) {
  const std::string stat = read_process(id, "stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.compare(name_end + 2, 1, "Z") == 0;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) ids.push_back(std::stoi(name));
  }
  return ids;
}

/// Leaves it to env(1) to make the environment.
std::vector<std::string> with_environment(const ProgramRequest& request, const std::string& mark) {
  std::vector<std::string> line{"/usr/bin/env"};
  for (const auto& [name, value] : request.environment) {
    if (!value) line.insert(line.end(), {"-u", name});
  }
  line.push_back(mark);
  for (const auto& [name, value] : request.environment) {
    if (value) line.push_back(name + "=" + *value);
  }
  line.insert(line.end(), request.arguments.begin(), request.arguments.end());
  return line;
}

/// What the child needs, made before fork() since little may be done after it.
struct Plan {
  std::vector<std::string> arguments;
  std::string directory;
  std::string output;
  std::string error;
  int input = -1;
};

[[noreturn]] void become(const Plan& plan) {
  std::vector<char*> argv;
  for (const std::string& argument : plan.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const int output = open(plan.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int error = open(plan.error.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(plan.input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  setsid();
  // A shell's background job ignores some; the programs keep what they find.
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  if (chdir(plan.directory.c_str()) == 0) execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double slowdown() {
  double last_minute = 0.0;
  double unused = 0.0;
  int running = 0;
  std::ifstream("/proc/loadavg") >> last_minute >> unused >> unused >> running;
  const double wanted = std::max(last_minute, static_cast<double>(running));
  return std::max(1.0, wanted / std::max(1U, std::thread::hardware_concurrency()));
}

double processor_seconds(pid_t id) {
  const std::string stat = read_process(id, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0.0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsBeforeTimes = 11;
  for (int i = 0; i < kFieldsBeforeTimes; ++i) fields >> skipped;
  double user = 0.0;
  double system = 0.0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Program::Program(const ProgramRequest& request)
    : mark_(fmt::format("{}={}", kMark, scratch_.path().string())), start_(now()) {
  Plan plan{with_environment(request, mark_), request.directory, scratch_ / "output",
            scratch_ / "error", -1};
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{-1, -1};
  if (request.has_input) {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  } else {
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  plan.input = ends[0];
  std::ofstream(plan.output).close();
  std::ofstream(plan.error).close();
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("no process");
  if (id_ == 0) become(plan);
  close(ends[0]);
  input_ = ends[1];
}

Program::~Program() {
  close_input();
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::vector<pid_t> left = processes();
    if (left.empty()) break;
    for (const pid_t id : left) kill(id, SIGKILL);
    pause_for(0.02);
  }
  if (!status_) waitpid(id_, nullptr, 0);
}

void Program::send(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the program does not read; its standard error:\n" + error());
  }
}

void Program::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

std::string Program::read_line(double seconds) {
  const double end = now() + seconds * slowdown();
  for (bool last_look = false;; pause_for(0.002)) {
    const std::string text = output();
    const std::size_t newline = text.find('\n', read_);
    if (newline != std::string::npos) {
      const std::string line = text.substr(read_, newline - read_);
      read_ = newline + 1;
      return line;
    }
    if (last_look || now() > end) break;
    last_look = !is_running();
  }
  throw std::runtime_error("no line came; the standard error:\n" + error());
}

void Program::signal(int number) const { kill(id_, number); }

bool Program::is_running() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) {
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return !status_;
}

Outcome Program::finish(double seconds) {
  close_input();
  if (!comes_true([this] { return !is_running(); }, seconds)) {
    throw std::runtime_error(fmt::format("still running after {} s; output:\n{}\nerror:\n{}",
                                         now() - start_, output(), error()));
  }
  return {*status_, output(), error(), now() - start_};
}

std::vector<pid_t> Program::processes() const {
  std::vector<pid_t> found;
  for (const pid_t id : all_processes()) {
    const std::string environment = '\0' + read_process(id, "environ");
    if (environment.find('\0' + mark_ + '\0') == std::string::npos || is_zombie(id)) continue;
    found.push_back(id);
  }
  return found;
}

std::vector<pid_t> Program::processes_named(const std::string& name) const {
  std::vector<pid_t> found;
  for (const pid_t id : processes()) {
    const std::string command = read_process(id, "cmdline");
    const std::string program = command.substr(0, command.find('\0'));
    if (std::filesystem::path(program).filename() == name) found.push_back(id);
  }
  return found;
}

Outcome run_program(const ProgramRequest& request, double seconds) {
  return Program(request).finish(seconds);
}

}  // namespace linkgain::test
