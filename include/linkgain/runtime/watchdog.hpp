#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "linkgain/base/units.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Ends a rank that waits in vain, whatever it waits in: a thread that looks ten times a second
/// whether the command that the rank is at takes too long, or its backend knows of a failure, or
/// rank 0, from which the next command would come, has given no sign of life for the limit. It then
/// says on standard error who waits where and for whom, has the backend end its work on the
/// device, and ends the process with status 6, upon which the launcher ends the other ranks.
class Watchdog {
 public:
  /// Watches for commands that take longer than `limit`; there is no limit if it is 0. The session
  /// must outlive it.
  Watchdog(Session& session, Seconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// For as long as it lives this rank is at a command, `what`, which may take the limit and ten
  /// times as long as `expected`.
  class Command {
   public:
    Command(Watchdog& watchdog, std::string what, Seconds expected = {});
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Adds what is found out when the command is under way: `more` than expected so far.
    void expect(Seconds more);

   private:
    Watchdog& watchdog_;
    RankState before_;
  };

  /// For as long as it lives the backend's failures count, too.
  class Guard {
   public:
    Guard(Watchdog& watchdog, Backend& backend);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog& watchdog_;
  };

  Session& session() { return session_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Current {
    std::string what;
    Clock::time_point began;
    Seconds allowed;
  };

  void look(const std::stop_token& stop);
  std::optional<std::string> problem();
  std::optional<std::string> lateness() const;
  std::optional<std::string> silence();
  /// Says "it is waiting for a command; rank 0 has not come: a signal has stopped it".
  std::string who_waits() const;
  [[noreturn]] void end_process(const std::string& problem);

  Session& session_;
  Seconds limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Current> current_;
  std::uint32_t beats_of_root_ = 0;
  int looks_since_ = 0;  ///< without another beat
  Backend* backend_ = nullptr;
  std::jthread thread_;
};

/// Ends this process where a step lasts too long that no Watchdog can see, as it needs a Session:
/// the start and the end of MPI, in which a rank waits for the others, and what is asked of the
/// GPUs without MPI. It then says on standard error what was too long, and leaves with status 6,
/// upon which the launcher ends the other ranks.
class TimeBound {
 public:
  /// Bounds the time for as long as it lives; there is no bound if `limit` is 0.
  TimeBound(std::string what, Seconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace linkgain
