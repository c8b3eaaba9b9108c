#include "linkgain/process/job_reaper.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};
/// A job that was just being started has no environment of its own yet.
constexpr Seconds kToBegin{1.0};
/// Who outlives SIGKILL for so long is asleep in a driver.
constexpr Seconds kToDie{5.0};
/// The one character that no folder has in its name.
constexpr char kNameEnd = '\0';

std::vector<pid_t> processes_of_jobs() {
  std::vector<pid_t> found;
  for (const ProcessEntry& process : list_processes()) {
    const std::string marker = variable_of(process.id, kJobMarker);
    if (marker.starts_with(marker_of_program())) found.push_back(process.id);
  }
  return found;
}

/// All that the program writes until it has ended. Throws std::system_error.
std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
  }
}

/// False where some are left.
bool have_ended(Seconds limit) {
  const Deadline deadline(limit);
  while (!processes_of_jobs().empty()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void end_jobs(Seconds grace, int first_signal) {
  std::this_thread::sleep_for(std::chrono::duration<double>(kToBegin.value));
  for (const pid_t each : processes_of_jobs()) ::kill(each, first_signal);
  if (have_ended(grace)) return;
  const Deadline limit(kToDie);
  do {  // again, as they may start others
    for (const pid_t each : processes_of_jobs()) ::kill(each, SIGKILL);
  } while (!have_ended(Seconds{0.2}) && !limit.passed());
}

/// Throws where it is not known whether the program lives, or no memory is left.
void reap(int told, Seconds grace, int first_signal) {
  const std::vector<std::string> folders = split(read_to_end(told), kNameEnd);
  end_jobs(grace, first_signal);
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
}

}  // namespace

JobReaper::JobReaper(Seconds grace, int first_signal) {
  Pipe pipe = make_pipe();
  ::fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK);  // a reaper that is stopped holds nobody up
  marker_of_program();                               // the same in both
  process_.emplace("linkgain-reaper", std::set<int>{pipe.reading.get()},
                   [&] { reap(pipe.reading.get(), grace, first_signal); });
  told_ = std::move(pipe.writing);
}

void JobReaper::remember(const std::filesystem::path& folder) {
  const std::string name = folder.string() + kNameEnd;
  [[maybe_unused]] const ssize_t written = ::write(told_.get(), name.data(), name.size());
}

}  // namespace linkgain
