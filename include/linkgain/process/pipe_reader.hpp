#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// Bytes of a program's standard output or error.
struct Output {
  bool is_error = false;
  std::string text;
  std::chrono::steady_clock::time_point arrived;  ///< when they were read
};

/// Reads what a program writes, on a thread that does nothing else: the program does not wait while
/// this one works on what came. Where nobody takes what came, at most kMostKept is read; then the
/// program waits, as it does for any reader that is too slow.
class PipeReader {
 public:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20;

  /// Starts to read until nonblocking reading ends; either may be none. Makes the pipes as large as
  /// the system allows.
  PipeReader(Descriptor output, Descriptor error);
  ~PipeReader();
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  /// Returns what poll() finds readable while something can be taken.
  int descriptor() const noexcept { return came_.get(); }
  /// Takes what came next; nothing if there is nothing now.
  std::optional<Output> take();
  /// Ends the thread: from then on take() reads the pipes itself.
  void stop();

  /// Returns how long a pipe was full at most, so that the program had to wait for this reader.
  Seconds full() const;
  /// Returns the processor time of the thread; 0 before stop().
  Seconds worked() const noexcept { return worked_; }

 private:
  struct Stream {
    Descriptor pipe;
    int capacity = 0;
    std::chrono::steady_clock::time_point emptied;  ///< since when nobody has read it
  };

  void keep_reading();
  bool wait_for_room();
  bool wait_for_output();
  std::optional<Output> read_one(bool is_error);
  void keep(Output output);

  std::array<Stream, 2> streams_;  ///< the output and the error
  Descriptor came_;                ///< an eventfd, as the next
  Descriptor stopping_;
  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable taken_;
  std::deque<Output> kept_;
  std::size_t bytes_kept_ = 0;
  bool is_stopping_ = false;
  std::chrono::steady_clock::duration full_{};
  Seconds worked_{};
  std::thread thread_;
};

}  // namespace linkgain
