#include "linkgain/process/left_processes.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// Says how long after its command a process may end by itself: helpers see a moment late that they
/// are needed no more. What goes on for longer is work that the command's time does not have.
Seconds time_to_follow(double seconds) {
  constexpr double kShare = 0.05;
  return Seconds{std::clamp(kShare * seconds, 0.05, 2.0)};
}

}  // namespace

std::vector<ProcessEntry> processes_left_by(Process& command, double seconds) {
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  const Deadline deadline(time_to_follow(seconds));
  while (true) {
    std::vector<ProcessEntry> left = command.remember_tree();
    std::erase_if(left, [](const ProcessEntry& each) { return each.state == 'Z'; });
    if (left.empty() || deadline.passed()) return left;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace linkgain
