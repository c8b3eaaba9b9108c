#include "linkgain/runtime/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/protocol/protocol.hpp"

namespace linkgain {
namespace {

/// Makes a name that ranks of other hosts and containers have not, though they may have the same
/// number.
std::string new_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{}{}-{}", protocol::kRankMemory, ::getpid(), now);
}

/// Reads 4711 from "/proc/4711/fd/5 name".
int process_of(const std::string& address) {
  constexpr std::size_t kProc = 6;  // "/proc/"
  int pid = 0;
  if (address.size() > kProc) std::from_chars(&address[kProc], &address.back(), pid);
  return pid;
}

void* map(int file, int protection, std::size_t size) {
  void* const memory = ::mmap(nullptr, size, protection, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// Returns whether the file is the one of that name: seen from another host or container the
/// process of that number is another one.
bool has_name(int file, const std::string& name) {
  char target[128] = {};
  const std::string link = fmt::format("/proc/self/fd/{}", file);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target - 1);
  return length > 0 && std::string(target) == fmt::format("/memfd:{} (deleted)", name);
}

}  // namespace

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

namespace {

/// A command's buffer: short enough for every transport's eager path, so that rank 0 never waits
/// for a sleeping receiver.
constexpr std::size_t kCommandBytes = Session::kLongestCommand + 1;

bool is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

/// Waits if ranks cannot be rung: looks again and again, sleeping a fifth of the time waited so
/// far.
void wait_polling(MPI_Request& request) {
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
void wait_asleep(MPI_Request& request, const Doorbell& doorbell) {
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

struct PlaceOnHost {
  int rank = 0;
  int ranks = 1;
};

PlaceOnHost place_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  PlaceOnHost place;
  MPI_Comm_rank(host, &place.rank);
  MPI_Comm_size(host, &place.ranks);
  MPI_Comm_free(&host);
  return place;
}

}  // namespace

Session::Session(int& argc, char**& argv) : doorbell_(std::make_unique<Doorbell>()) {
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    throw MachineError("MPI did not start", "check Open MPI with `mpirun -np 2 hostname`");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  const PlaceOnHost place = place_on_host();
  local_rank_ = place.rank;
  on_one_host_ = place.ranks == ranks_;
  some_share_a_host_ = max(place.ranks) > 1;
  board_.open_others(share(board_.address()), rank_);
  const std::vector<std::string> addresses = gather(doorbell_->address());
  if (is_root()) addresses_.assign(addresses.begin() + 1, addresses.end());
  if (is_root()) doorbell_->ring(addresses_);
  barrier();
  can_be_rung_ = doorbell_->wait(0);
  start_time_ = since_start_.lap();
}

Session::~Session() { MPI_Finalize(); }

std::string Session::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data());
  return whole.substr(0, whole.find(','));
}

void Session::barrier() {
  const InState state(board_, RankState::with_ranks);
  MPI_Barrier(MPI_COMM_WORLD);
}

double Session::max(double value) {
  const InState state(board_, RankState::with_ranks);
  double result = 0.0;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

void Session::broadcast(void* data, std::size_t bytes) {
  const InState state(board_, RankState::with_ranks);
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

std::string Session::broadcast_command(const std::string& line) {
  if (line.size() >= kCommandBytes) throw std::length_error("command");
  std::array<char, kCommandBytes> buffer{};
  if (is_root()) std::memcpy(buffer.data(), line.data(), line.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(buffer.data(), static_cast<int>(kCommandBytes), MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  if (is_root()) {
    const InState state(board_, RankState::with_ranks);
    doorbell_->ring(addresses_);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (can_be_rung_) {
    wait_asleep(request, *doorbell_);
  } else {
    wait_polling(request);
  }
  return std::string(buffer.data());
}

std::vector<std::string> Session::gather(const std::string& own) {
  const InState state(board_, RankState::with_ranks);
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks_));
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(lengths.size());
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = total;
    total += is_root() ? lengths[i] : 0;
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t i = 0; is_root() && i < lengths.size(); ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

std::vector<std::string> Session::share(const std::string& own) {
  std::vector<std::string> texts = gather(own);
  texts.resize(static_cast<std::size_t>(ranks_));
  for (std::string& text : texts) {
    std::size_t length = text.size();
    broadcast(&length, sizeof length);
    text.resize(length);
    broadcast(text.data(), length);
  }
  return texts;
}

std::vector<double> Session::gather(const std::vector<double>& own) {
  const InState state(board_, RankState::with_ranks);
  const int count = static_cast<int>(own.size());
  std::vector<double> all(is_root() ? own.size() * static_cast<std::size_t>(ranks_) : 0);
  MPI_Gather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

std::optional<std::string> Session::first_text(const std::optional<std::string>& own) {
  const InState state(board_, RankState::with_ranks);
  const int mine = own ? rank_ : ranks_;
  int first = ranks_;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == ranks_) return std::nullopt;
  int length = first == rank_ ? static_cast<int>(own->size()) : 0;
  MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD);
  std::string text = first == rank_ ? *own : std::string(static_cast<std::size_t>(length), '\0');
  MPI_Bcast(text.data(), length, MPI_CHAR, first, MPI_COMM_WORLD);
  return text;
}

void Session::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

RankBoard::RankBoard() : name_(new_name()), file_(::memfd_create(name_.c_str(), MFD_CLOEXEC)) {
  if (file_ < 0 || ::ftruncate(file_, sizeof(Page)) != 0) return;
  if (void* const memory = map(file_, PROT_READ | PROT_WRITE, sizeof(Page)))
    own_ = new (memory) Page;
}

RankBoard::~RankBoard() {
  for (const Other& other : others_) ::munmap(const_cast<Page*>(other.page), sizeof(Page));
  if (own_ != &spare_) ::munmap(own_, sizeof(Page));
  if (file_ >= 0) ::close(file_);
}

std::string RankBoard::address() const {
  if (own_ == &spare_) return {};
  return fmt::format("/proc/{}/fd/{} {}", ::getpid(), file_, name_);
}

void RankBoard::open_others(const std::vector<std::string>& addresses, int own_rank) {
  for (int rank = 0; rank < static_cast<int>(addresses.size()); ++rank) {
    const std::string& address = addresses[static_cast<std::size_t>(rank)];
    const std::size_t space = address.find(' ');
    if (rank == own_rank || space == std::string::npos) continue;
    const int file = ::open(address.substr(0, space).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    const bool meant = has_name(file, address.substr(space + 1));
    void* const memory = meant ? map(file, PROT_READ, sizeof(Page)) : nullptr;
    ::close(file);
    if (memory == nullptr) continue;
    others_.push_back({rank, process_of(address), static_cast<const Page*>(memory)});
  }
}

std::optional<std::uint32_t> RankBoard::beats_of(int rank) const {
  const auto found = std::ranges::find(others_, rank, &Other::rank);
  if (found == others_.end()) return std::nullopt;
  return found->page->beats.load();
}

std::optional<std::string> RankBoard::lag_of(const Other& other) const {
  const std::optional<ProcessEntry> process = read_process(other.pid);
  if (!process || process->state == 'Z') return "it is gone";
  if (is_stopped(*process)) return "a signal has stopped it";
  const auto behind = static_cast<std::int32_t>(own_->commands - other.page->commands);
  if (behind > 0) return "it has not begun";
  if (behind < 0) return std::nullopt;
  const auto state = static_cast<RankState>(other.page->state.load());
  if (state == RankState::at_work && own() != RankState::at_work) return "it is at work of its own";
  const bool apart = own() == RankState::with_ranks && state == RankState::in_operation;
  return apart ? std::optional<std::string>("it is still in the operation") : std::nullopt;
}

std::string RankBoard::who_is_missing() const {
  std::vector<std::string> missing;
  for (const Other& other : others_) {
    if (const auto lag = lag_of(other)) {
      missing.push_back(fmt::format("rank {} has not come: {}", other.rank, *lag));
    }
  }
  return fmt::format("{}", fmt::join(missing, "; "));
}

}  // namespace linkgain
