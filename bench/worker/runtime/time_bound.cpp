#include "linkgain/runtime/time_bound.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"

namespace linkgain {

std::optional<int> launched_rank() {
  const char* const text = std::getenv("PMIX_RANK");
  return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

TimeBound::TimeBound(std::string what, Seconds limit) {
  if (limit.value <= 0.0) return;
  thread_ = std::jthread([this, what = std::move(what), limit](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, std::chrono::duration<double>(limit.value), [] { return false; });
    if (stop.stop_requested()) return;
    print_message(stderr, fmt::format("linkgain-bench: rank {}: {:.0f} s were not enough for {}\n",
                                      launched_rank().value_or(0), limit.value, what));
    ::_exit(static_cast<int>(ExitCode::incomplete));
  });
}

}  // namespace linkgain
