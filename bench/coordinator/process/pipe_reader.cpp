#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;

/// What an unprivileged program may ask for, unless the system was told otherwise.
constexpr int kPipeBytes = 1 << 20;

Descriptor new_event() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw MachineError("no descriptor is left to read a program's output");
  return event;
}

void raise_event(const Descriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event.get(), &one, sizeof one);
}

void clear_event(const Descriptor& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t had = read(event.get(), &count, sizeof count);
}

/// Returns whether who writes a little more would have to wait.
bool is_full(int pipe, int capacity) {
  int bytes = 0;
  return ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > capacity - PIPE_BUF;
}

}  // namespace

PipeReader::PipeReader(Descriptor output, Descriptor error) try
    : came_(new_event()), stopping_(new_event()) {
  streams_[0].pipe = std::move(output);
  streams_[1].pipe = std::move(error);
  for (Stream& each : streams_) {
    if (!each.pipe) continue;
    fcntl(each.pipe.get(), F_SETPIPE_SZ, kPipeBytes);
    each.capacity = fcntl(each.pipe.get(), F_GETPIPE_SZ);
    each.emptied = Clock::now();
  }
  thread_ = std::thread([this] { keep_reading(); });
} catch (const std::system_error& failure) {
  throw MachineError(std::string("cannot start a thread to read a program's output: ") +
                     failure.what());
}

PipeReader::~PipeReader() { stop(); }

void PipeReader::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  taken_.notify_all();
  raise_event(stopping_);
  thread_.join();
}

Seconds PipeReader::full() const {
  const std::lock_guard lock(mutex_);
  return Seconds{std::chrono::duration<double>(full_).count()};
}

std::optional<Output> PipeReader::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      Output next = std::move(kept_.front());
      kept_.pop_front();
      bytes_kept_ -= next.text.size();
      if (kept_.empty()) clear_event(came_);
      taken_.notify_all();
      return next;
    }
  }
  if (thread_.joinable()) return std::nullopt;
  std::optional<Output> rest = read_one(false);
  return rest ? std::move(rest) : read_one(true);
}

void PipeReader::keep_reading() {
  while (wait_for_room() && wait_for_output()) {
    for (const bool is_error : {false, true}) {
      if (std::optional<Output> output = read_one(is_error)) keep(*std::move(output));
    }
  }
  worked_ = thread_processor_time();
}

/// Waits for room in the queue; false once it is to stop.
bool PipeReader::wait_for_room() {
  std::unique_lock lock(mutex_);
  taken_.wait(lock, [this] { return is_stopping_ || bytes_kept_ < kMostKept; });
  return !is_stopping_;
}

/// Waits for output; false once it is to stop, or nothing more can come.
bool PipeReader::wait_for_output() {
  std::array<pollfd, 3> entries{{{stopping_.get(), POLLIN, 0},
                                 {streams_[0].pipe.get(), POLLIN, 0},
                                 {streams_[1].pipe.get(), POLLIN, 0}}};
  if (!streams_[0].pipe && !streams_[1].pipe) return false;
  if (poll(entries.data(), entries.size(), 0) == 0) {
    poll(entries.data(), entries.size(), -1);
    for (Stream& each : streams_) each.emptied = Clock::now();
  }
  return entries[0].revents == 0;
}

/// Reads what there is; nothing if there is nothing now. A pipe is closed at its end.
std::optional<Output> PipeReader::read_one(bool is_error) {
  Stream& stream = streams_[is_error ? 1 : 0];
  if (!stream.pipe) return std::nullopt;
  std::array<char, 65536> chunk;
  const bool was_full = is_full(stream.pipe.get(), stream.capacity);
  const ssize_t count = read(stream.pipe.get(), chunk.data(), chunk.size());
  const Clock::time_point now = Clock::now();
  if (was_full) {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_) full_ += now - stream.emptied;
  }
  stream.emptied = now;
  if (count == 0) stream.pipe.reset();
  if (count <= 0) return std::nullopt;
  return Output{is_error, std::string(chunk.data(), static_cast<std::size_t>(count)), now};
}

void PipeReader::keep(Output output) {
  const std::lock_guard lock(mutex_);
  bytes_kept_ += output.text.size();
  kept_.push_back(std::move(output));
  if (kept_.size() == 1) raise_event(came_);
}

}  // namespace linkgain
