#include "driver_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"

namespace linkgain {

DriverWatch::Call::Call(DriverWatch& watch, const char* function)
    : watch_(watch), function_(function), start_(std::chrono::steady_clock::now()) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.calls_.push_back(this);
}

DriverWatch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.calls_, this);
}

DriverWatch::DriverWatch(Seconds limit) : limit_(limit) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { look(stop); });
  } catch (const std::system_error&) {
    return;
  }
}

void DriverWatch::look(const std::stop_token& stop) {
  const std::chrono::duration<double> limit(limit_.value);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait_for(lock, stop, limit / 4, [] { return false; });
    for (const Call* call : calls_) {
      if (std::chrono::steady_clock::now() - call->start_ < limit) continue;
      print_message(stderr,
                    fmt::format("linkgain: the NVIDIA driver did not answer {} for {:.0f} s: "
                                "it hangs, as nvidia-smi would\n"
                                "          dmesg says why, perhaps after an Xid; its GPUs "
                                "need a reset, or the machine a restart\n",
                                call->function_, limit_.value));
      ::_exit(static_cast<int>(ExitCode::machine_cannot));
    }
  }
}

}  // namespace linkgain
