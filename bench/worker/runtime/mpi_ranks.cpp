#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/mpi_library.hpp"
#include "linkgain/runtime/ranks.hpp"

namespace linkgain {
namespace {

/// Wakes the ranks of rank 0's host without their having to look: each waits on a socket of its own
/// that rank 0 sends to. Ranks that rank 0 cannot reach that way (other hosts, other network
/// namespaces) have to poll. Uses abstract Unix sockets, which vanish with their process.
class Doorbell {
 public:
  Doorbell() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (socket_ < 0) return;
    // Binding to the family alone has the kernel choose a free abstract name.
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own.sun_family) != 0) return;
    socklen_t length = sizeof own;
    if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &length) != 0) return;
    address_.assign(own.sun_path, length - offsetof(sockaddr_un, sun_path));
  }

  ~Doorbell() {
    if (socket_ >= 0) ::close(socket_);
  }

  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// Returns this rank's address, for rank 0; empty if there is no such socket.
  const std::string& address() const { return address_; }

  /// Rings, on rank 0, whoever is behind these addresses; those that cannot be reached are left
  /// out.
  void ring(const std::vector<std::string>& addresses) const {
    for (const std::string& address : addresses) {
      sockaddr_un other{};
      if (address.empty() || address.size() > sizeof other.sun_path) continue;
      other.sun_family = AF_UNIX;
      std::memcpy(other.sun_path, address.data(), address.size());
      const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
      // A full queue means that the rank has been rung already; a missing rank is MPI's to notice.
      const char signal = 1;
      [[maybe_unused]] const ssize_t sent =
          ::sendto(socket_, &signal, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<sockaddr*>(&other), length);
    }
  }

  /// Sleeps until rung, at most `milliseconds`. Several rings before the call count as one.
  bool wait(int milliseconds) const {
    pollfd waiting{socket_, POLLIN, 0};
    if (socket_ < 0 || ::poll(&waiting, 1, milliseconds) <= 0) return false;
    char signals[64];
    while (::recv(socket_, signals, sizeof signals, MSG_DONTWAIT) > 0) {
    }
    return true;
  }

 private:
  int socket_ = -1;
  std::string address_;
};

/// A command's buffer: short enough for every transport's eager path, so that rank 0 never waits
/// for a sleeping receiver.
constexpr std::size_t kCommandBytes = Ranks::kLongestCommand + 1;

bool is_done(MpiLibrary::Request& request) {
  int done = 0;
  mpi().test(&request, &done, MpiLibrary::kStatusIgnore);
  return done != 0;
}

/// Waits if ranks cannot be rung: looks again and again, sleeping a fifth of the time waited so
/// far.
void wait_polling(MpiLibrary::Request& request) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kShortest{20};
  constexpr std::chrono::microseconds kLongest{500};
  const Clock::time_point start = Clock::now();
  while (!is_done(request)) {
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    std::this_thread::sleep_for(std::clamp(waited / 5, kShortest, kLongest));
  }
}

/// Looks when rung, and now and then in case a ring got lost. A ring may be an old one, whose
/// message had come before it was looked for, so that no ring is trusted for longer than a message
/// takes.
void wait_asleep(MpiLibrary::Request& request, const Doorbell& doorbell) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLookAgainMilliseconds = 200;
  constexpr std::chrono::milliseconds kOnItsWay{1};
  while (!is_done(request)) {
    if (!doorbell.wait(kLookAgainMilliseconds)) continue;
    const Clock::time_point rung = Clock::now();
    while (Clock::now() - rung < kOnItsWay) {
      if (is_done(request)) return;
    }
  }
}

class MpiRanks : public Ranks {
 public:
  MpiRanks(int& argc, char**& argv) {
    int provided = 0;
    if (mpi().init_thread(&argc, &argv, MpiLibrary::kThreadFunneled, &provided) !=
        MpiLibrary::kSuccess) {
      throw MachineError("MPI did not start", "check Open MPI with `mpirun -np 2 hostname`");
    }
    mpi().comm_rank(mpi().comm_world, &place_.rank);
    mpi().comm_size(mpi().comm_world, &place_.ranks);
    take_place_on_host();
    const std::vector<std::string> addresses = MpiRanks::gather(doorbell_.address());
    if (is_root()) {
      addresses_.assign(addresses.begin() + 1, addresses.end());
      doorbell_.ring(addresses_);
    }
    MpiRanks::barrier();
    can_be_rung_ = doorbell_.wait(0);
  }
  ~MpiRanks() override { mpi().finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  RankPlace place() const override { return place_; }

  void barrier() override { mpi().barrier(mpi().comm_world); }

  double max(double value) override {
    double result = 0.0;
    mpi().allreduce(&value, &result, 1, mpi().float64, mpi().max, mpi().comm_world);
    return result;
  }

  void broadcast(void* data, std::size_t bytes) override {
    mpi().bcast(data, static_cast<int>(bytes), mpi().byte, 0, mpi().comm_world);
  }

  std::vector<std::string> gather(const std::string& own) override {
    const int length = static_cast<int>(own.size());
    std::vector<int> lengths(static_cast<std::size_t>(place_.ranks));
    mpi().gather(&length, 1, mpi().int32, lengths.data(), 1, mpi().int32, 0, mpi().comm_world);
    std::vector<int> offsets(lengths.size());
    int total = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      offsets[i] = total;
      total += is_root() ? lengths[i] : 0;
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    mpi().gatherv(own.data(), length, mpi().byte, all.data(), lengths.data(), offsets.data(),
                  mpi().byte, 0, mpi().comm_world);
    std::vector<std::string> texts;
    for (std::size_t i = 0; is_root() && i < lengths.size(); ++i) {
      texts.push_back(
          all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
    }
    return texts;
  }

  /// Lets the ranks of rank 0's host sleep until they are rung, others between polls up to half a
  /// millisecond apart.
  std::string next_command(const std::string& line) override {
    std::array<char, kCommandBytes> buffer{};
    if (is_root()) std::memcpy(buffer.data(), line.data(), line.size());
    MpiLibrary::Request request = mpi().request_null;
    mpi().ibcast(buffer.data(), static_cast<int>(kCommandBytes), mpi().byte, 0, mpi().comm_world,
                 &request);
    if (is_root()) {
      doorbell_.ring(addresses_);
      mpi().wait(&request, MpiLibrary::kStatusIgnore);
    } else if (can_be_rung_) {
      wait_asleep(request, doorbell_);
    } else {
      wait_polling(request);
    }
    return std::string(buffer.data());
  }

  [[noreturn]] void abort(int exit_code) override {
    mpi().abort(mpi().comm_world, exit_code);
    std::abort();
  }

 private:
  bool is_root() const { return place_.rank == 0; }

  void take_place_on_host() {
    MpiLibrary::Comm host = mpi().comm_null;
    mpi().comm_split_type(mpi().comm_world, MpiLibrary::kCommTypeShared, 0, mpi().info_null, &host);
    mpi().comm_rank(host, &place_.local_rank);
    mpi().comm_size(host, &place_.local_ranks);
    mpi().comm_free(&host);
  }

  RankPlace place_;
  Doorbell doorbell_;
  std::vector<std::string> addresses_;  ///< of the other ranks' doorbells; rank 0 only
  bool can_be_rung_ = false;
};

}  // namespace

std::unique_ptr<Ranks> join_by_mpi(int& argc, char**& argv) {
  if (ranks_of_launcher() < 2 && mpi_version().empty()) return join_alone();
  return std::make_unique<MpiRanks>(argc, argv);
}

}  // namespace linkgain
