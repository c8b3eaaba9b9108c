#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/errors.hpp"
#include "local_place.hpp"

namespace linkgain {
namespace {

/// Where ranks meet, in memory that all have: each on a line of the cache of its own.
struct alignas(64) Meeting {
  alignas(64) std::atomic<int> arrived;
  alignas(64) std::atomic<unsigned> round;
};

/// A rank's number in this round and in the one before.
struct alignas(64) Value {
  double of_round[2];
};

/// Tells the processor that this is a loop that waits.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Waits with the processor's own pause, and lets others run once that has taken long: there may be
/// more ranks than processors.
class Spin {
 public:
  void once() {
    constexpr int kPauses = 2000;
    if (++turns_ < kPauses) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int turns_ = 0;
};

/// Waits to be ended: the rank at a socket's other end is gone, which whoever started the ranks
/// sees and says better than this one could.
[[noreturn]] void await_end() {
  constexpr unsigned kSeconds = 10;
  ::sleep(kSeconds);
  throw MachineError("another rank is gone, and nobody ended this one",
                     "see its words in the job's log");
}

void write_all(const Descriptor& socket, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket.get(), next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) await_end();
    next += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void read_all(const Descriptor& socket, void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t came = ::recv(socket.get(), next, bytes, MSG_WAITALL);
    if (came < 0 && errno == EINTR) continue;
    if (came <= 0) await_end();
    next += came;
    bytes -= static_cast<std::size_t>(came);
  }
}

void write_text(const Descriptor& socket, const std::string& text) {
  const std::uint64_t length = text.size();
  write_all(socket, &length, sizeof length);
  write_all(socket, text.data(), text.size());
}

std::string read_text(const Descriptor& socket) {
  std::uint64_t length = 0;
  read_all(socket, &length, sizeof length);
  std::string text(length, '\0');
  read_all(socket, text.data(), text.size());
  return text;
}

/// Rank 0 has a socket to each of the others, which have one to it.
class LocalRanks : public Ranks {
 public:
  explicit LocalRanks(const LocalPlace& place) : place_(place) {
    for (const int socket : place.sockets) {
      ::fcntl(socket, F_SETFD, FD_CLOEXEC);
      sockets_.emplace_back(socket);
    }
    const Descriptor file(place.memory);
    void* const memory = ::mmap(nullptr, meeting_bytes(place.ranks), PROT_READ | PROT_WRITE,
                                MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) {
      throw MachineError("the memory in which ranks meet cannot be mapped",
                         "let linkgain-bench start its ranks (--np)");
    }
    meeting_ = static_cast<Meeting*>(memory);
    values_ = reinterpret_cast<Value*>(meeting_ + 1);
  }

  ~LocalRanks() override {
    barrier();
    ::munmap(meeting_, meeting_bytes(place_.ranks));
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  RankPlace place() const override {
    return {place_.rank, place_.ranks, place_.rank, place_.ranks};
  }

  void barrier() override {
    const unsigned round = meeting_->round.load(std::memory_order_relaxed);
    if (meeting_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == place_.ranks) {
      meeting_->arrived.store(0, std::memory_order_relaxed);
      meeting_->round.store(round + 1, std::memory_order_release);
      return;
    }
    for (Spin spin; meeting_->round.load(std::memory_order_acquire) == round;) spin.once();
  }

  /// Ranks write into the other half of their values each time: nobody is two barriers ahead.
  double max(double value) override {
    const unsigned half = meeting_->round.load(std::memory_order_relaxed) % 2;
    values_[place_.rank].of_round[half] = value;
    barrier();
    double largest = value;
    for (const Value& each : std::span(values_, static_cast<std::size_t>(place_.ranks))) {
      largest = std::max(largest, each.of_round[half]);
    }
    return largest;
  }

  void broadcast(void* data, std::size_t bytes) override {
    if (place_.rank != 0) return read_all(sockets_.front(), data, bytes);
    for (const Descriptor& socket : sockets_) write_all(socket, data, bytes);
  }

  std::vector<std::string> gather(const std::string& own) override {
    if (place_.rank != 0) {
      write_text(sockets_.front(), own);
      return {};
    }
    std::vector<std::string> texts{own};
    for (const Descriptor& socket : sockets_) texts.push_back(read_text(socket));
    return texts;
  }

  std::string next_command(const std::string& line) override {
    if (place_.rank != 0) return read_text(sockets_.front());
    for (const Descriptor& socket : sockets_) write_text(socket, line);
    return line;
  }

  [[noreturn]] void abort(int exit_code) override { ::_exit(exit_code); }

 private:
  LocalPlace place_;
  std::vector<Descriptor> sockets_;
  Meeting* meeting_ = nullptr;
  Value* values_ = nullptr;
};

}  // namespace

std::size_t meeting_bytes(int ranks) {
  return sizeof(Meeting) + static_cast<std::size_t>(ranks) * sizeof(Value);
}

std::unique_ptr<Ranks> join_alone() {
  LocalPlace place;
  place.memory = ::memfd_create("linkgain-meeting", MFD_CLOEXEC);
  if (::ftruncate(place.memory, static_cast<off_t>(meeting_bytes(1))) != 0) {
    throw MachineError("there is no memory in which ranks could meet");
  }
  return std::make_unique<LocalRanks>(place);
}

std::unique_ptr<Ranks> join_locally() {
  const auto place = local_place();
  return place ? std::make_unique<LocalRanks>(*place) : nullptr;
}

}  // namespace linkgain
