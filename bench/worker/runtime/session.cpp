#include "linkgain/runtime/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

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

Session::Session(int& argc, char**& argv) {
  ranks_ = join_locally();
  if (!ranks_) ranks_ = join_by_mpi(argc, argv);
  place_ = ranks_->place();
  some_share_a_host_ = max(place_.local_ranks) > 1;
  board_.open_others(share(board_.address()), rank());
  start_time_ = since_start_.lap();
}

void Session::barrier() {
  const InState state(board_, RankState::with_ranks);
  ranks_->barrier();
}

double Session::max(double value) {
  const InState state(board_, RankState::with_ranks);
  return ranks_->max(value);
}

void Session::broadcast(void* data, std::size_t bytes) {
  const InState state(board_, RankState::with_ranks);
  ranks_->broadcast(data, bytes);
}

std::string Session::broadcast_command(const std::string& line) {
  if (line.size() > kLongestCommand) throw std::length_error("command");
  std::optional<InState> state;
  if (is_root()) state.emplace(board_, RankState::with_ranks);
  return ranks_->next_command(line);
}

std::vector<std::string> Session::gather(const std::string& own) {
  const InState state(board_, RankState::with_ranks);
  return ranks_->gather(own);
}

std::vector<std::string> Session::share(const std::string& own) {
  std::vector<std::string> texts = gather(own);
  texts.resize(static_cast<std::size_t>(ranks()));
  for (std::string& text : texts) {
    std::size_t length = text.size();
    broadcast(&length, sizeof length);
    text.resize(length);
    broadcast(text.data(), length);
  }
  return texts;
}

std::vector<double> Session::gather(const std::vector<double>& own) {
  const char* const bytes = reinterpret_cast<const char*>(own.data());
  std::vector<double> all;
  for (const std::string& text : gather(std::string(bytes, own.size() * sizeof(double)))) {
    const std::size_t count = all.size();
    all.resize(count + text.size() / sizeof(double));
    std::memcpy(&all[count], text.data(), text.size());
  }
  return all;
}

std::optional<std::string> Session::first_text(const std::optional<std::string>& own) {
  const double first = -max(-(own ? rank() : ranks()));
  if (first == ranks()) return std::nullopt;
  return share(own.value_or(""))[static_cast<std::size_t>(first)];
}

void Session::abort(int exit_code) {
  ranks_->abort(exit_code);
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
