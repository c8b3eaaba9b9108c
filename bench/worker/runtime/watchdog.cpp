#include "linkgain/runtime/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"

namespace linkgain {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

/// What ends a rank ends all; others may have something to say, too.
constexpr std::chrono::milliseconds kForTheOthers{300};

/// A library that hangs may hang in its own end.
constexpr std::chrono::seconds kForTheBackend{2};

/// How many times as long as expected a command may take.
constexpr double kSlack = 10.0;

const char* where(RankState state) {
  switch (state) {
    case RankState::idle:
      return "waiting for a command";
    case RankState::at_work:
      return "at work of its own";
    case RankState::with_ranks:
      return "waiting for the other ranks";
    case RankState::in_operation:
      return "in the operation";
  }
  return "";
}

}  // namespace

Watchdog::Command::Command(Watchdog& watchdog, std::string what, Seconds expected)
    : watchdog_(watchdog), before_(watchdog.session_.board().set(RankState::at_work)) {
  watchdog_.session_.board().begins_command();
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.current_ = {std::move(what), Clock::now(),
                        Seconds{watchdog_.limit_.value + kSlack * expected.value}};
}

Watchdog::Command::~Command() {
  {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.current_.reset();
  }
  watchdog_.session_.board().set(before_);
}

void Watchdog::Command::expect(Seconds more) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.current_->allowed.value += kSlack * more.value;
}

Watchdog::Guard::Guard(Watchdog& watchdog, Backend& backend) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.backend_ = &backend;
}

Watchdog::Guard::~Guard() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.backend_ = nullptr;
}

Watchdog::Watchdog(Session& session, Seconds limit)
    : session_(session),
      limit_(limit),
      thread_([this](const std::stop_token& stop) { look(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::look(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, stop, kBetweenLooks, [] { return false; }) &&
         !stop.stop_requested()) {
    session_.board().beats();
    if (const std::optional<std::string> found = problem()) end_process(*found);
  }
}

std::optional<std::string> Watchdog::problem() {
  if (backend_ != nullptr) {
    if (auto failure = backend_->failure()) return failure;
  }
  if (limit_.value <= 0.0) return std::nullopt;
  return current_ ? lateness() : silence();
}

/// Says that rank 0 is silent while this one waits for its next command. Counted in looks, as a
/// rank that was stopped together with rank 0 has looked no more often than that.
std::optional<std::string> Watchdog::silence() {
  const std::optional<std::uint32_t> beats = session_.board().beats_of(0);
  if (!beats) return std::nullopt;
  looks_since_ = *beats == beats_of_root_ ? looks_since_ + 1 : 0;
  beats_of_root_ = *beats;
  const std::chrono::duration<double> time = looks_since_ * kBetweenLooks;
  if (time.count() < limit_.value) return std::nullopt;
  return fmt::format("{:.0f} s were too long without a sign of life of rank 0: {}", time.count(),
                     who_waits());
}

std::optional<std::string> Watchdog::lateness() const {
  const std::chrono::duration<double> time = Clock::now() - current_->began;
  if (time.count() < current_->allowed.value) return std::nullopt;
  return fmt::format("{:.0f} s were not enough for {}: {}", time.count(), current_->what,
                     who_waits());
}

std::string Watchdog::who_waits() const {
  const std::string missing = session_.board().who_is_missing();
  return fmt::format("it is {}{}{}", where(session_.board().own()), missing.empty() ? "" : "; ",
                     missing);
}

/// Ends the process with the mutex held, so that no backend goes meanwhile.
void Watchdog::end_process(const std::string& problem) {
  print_message(stderr, fmt::format("linkgain-bench: rank {}: {}\n", session_.rank(), problem));
  std::this_thread::sleep_for(kForTheOthers);
  if (backend_ != nullptr) {
    std::packaged_task<void()> abort([backend = backend_] { backend->abort(); });
    std::future<void> done = abort.get_future();
    std::thread(std::move(abort)).detach();
    done.wait_for(kForTheBackend);
  }
  ::_exit(static_cast<int>(ExitCode::incomplete));
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
