#include "linkgain/base/process_entry.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"

namespace linkgain {
namespace {

/// Four times what ranks over MPI were seen to need; `linkgain` itself needs less.
constexpr rlim_t kLeastKibibytes = 1024;

}  // namespace

std::optional<ProcessEntry> parse_process(std::string_view stat) {
  // The second field is the program's name in parentheses and may itself hold any character.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessEntry process;
  std::istringstream before{std::string(stat.substr(0, name_end))};
  std::istringstream after{std::string(stat.substr(name_end + 1))};
  std::string skipped;
  const auto skip = [&](int fields) {
    for (int field = 0; field < fields; ++field) after >> skipped;
  };
  double user = 0.0;
  double system = 0.0;
  before >> process.id;
  const std::size_t name = std::min(stat.find('('), name_end - 1) + 1;
  process.name = stat.substr(name, name_end - name);
  after >> process.state >> process.parent >> skipped >> process.session;
  skip(7);  // from the terminal to faults
  after >> user >> system;
  skip(6);  // from the children's times to the next alarm
  after >> process.start;
  if (!before || !after) return std::nullopt;
  process.worked = seconds_of_ticks(user + system);
  return process;
}

std::optional<ProcessEntry> read_process(pid_t id, const std::filesystem::path& proc) {
  return parse_process(read_regular_file(proc / std::to_string(id) / "stat").value_or(""));
}

std::optional<std::vector<pid_t>> children_of(pid_t process) {
  std::vector<pid_t> found;
  std::error_code error;
  const std::filesystem::path threads =
      std::filesystem::path("/proc") / std::to_string(process) / "task";
  std::filesystem::directory_iterator thread(threads, error);
  for (; !error && thread != std::filesystem::directory_iterator{}; thread.increment(error)) {
    std::ifstream children(thread->path() / "children");
    if (!children.is_open()) return std::nullopt;
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  if (error) return std::nullopt;
  return found;
}

std::string boot_id() {
  std::string id = read_regular_file("/proc/sys/kernel/random/boot_id").value_or("");
  std::erase_if(id, [](char c) { return c == '-' || c == '\n'; });
  return id;
}

std::string signal_name(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

Seconds thread_processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

Seconds seconds_of_ticks(double ticks) {
  static const auto kTicksPerSecond = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return Seconds{ticks / kTicksPerSecond};
}

void require_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t kibibytes = limit.rlim_cur / 1024;
  if (kibibytes >= kLeastKibibytes) return;
  throw MachineError(fmt::format("a stack of {} KiB is all that this shell or job allows, and {} "
                                 "KiB are needed",
                                 kibibytes, kLeastKibibytes),
                     "raise the limit first: ulimit -s 8192");
}

}  // namespace linkgain
