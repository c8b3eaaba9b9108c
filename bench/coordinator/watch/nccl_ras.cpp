// The client of NCCL's RAS, and what its report means. The protocol is NVIDIA's: lines of text over
// TCP, a handshake ("CLIENT PROTOCOL 2"), settings that are answered by "OK", and "VERBOSE STATUS",
// answered by a report that the end of the connection ends.
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>

#include "linkgain/process/process.hpp"
#include "linkgain/watch/hang_report.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostAnswerBytes = std::size_t{1} << 20;
constexpr std::size_t kMostLineCharacters = 500;  ///< of a line

/// Ranks that launched equally many operations of a kind; those that the report names.
struct Group {
  std::int64_t launched = 0;
  std::vector<std::pair<int, std::string>> ranks;  ///< with where they are
};

/// The counts of one kind of operation in one communicator.
struct Counts {
  std::string operation;
  std::vector<Group> groups;
};

void add_behind(const Counts& counts, std::vector<RankBehind>& behind) {
  std::int64_t most = 0;
  for (const Group& group : counts.groups) most = std::max(most, group.launched);
  for (const Group& group : counts.groups) {
    if (group.launched == most) continue;
    for (const auto& [rank, where] : group.ranks) {
      behind.push_back({rank, counts.operation, group.launched, most, where});
    }
  }
}

std::int64_t number_in(const std::ssub_match& match) {
  return match.matched ? std::stoll(match.str()) : 0;
}

/// A line of the counts; false where it is none, which ends them.
bool read_count(const std::string& line, Counts& counts) {
  static const std::regex count(
      R"(^\s*(?:(\d{1,9}) ranks? ha(?:ve|s)|Rank (\d{1,9}) has) (?:launched up to operation (\d{1,18})|not launched any operations)(?: -- (.*))?$)");
  static const std::regex member(R"(^\s*Rank (\d{1,9}) -- (.*)$)");
  std::smatch match;
  if (std::regex_match(line, match, count)) {
    Group& group = counts.groups.emplace_back();
    group.launched = number_in(match[3]);
    if (match[2].matched) {
      group.ranks.emplace_back(static_cast<int>(number_in(match[2])), match[4].str());
    }
    return true;
  }
  if (counts.groups.empty() || !std::regex_match(line, match, member)) return false;
  counts.groups.back().ranks.emplace_back(static_cast<int>(number_in(match[1])), match[2].str());
  return true;
}

std::string trimmed_end(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

struct Place {
  std::string host;
  std::string port;
};

std::optional<Place> place_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return Place{host.empty() ? "localhost" : host, address.substr(colon + 1)};
}

/// A connection whose every step ends at the deadline.
class Connection {
 public:
  explicit Connection(const Deadline& deadline) : deadline_(deadline) {}

  /// Empty, or why there is none.
  std::string open(const Place& place);
  bool send_line(const std::string& line);
  /// Without its end; absent where the connection or the time ended first.
  std::optional<std::string> read_line();
  /// All until the end of the connection.
  std::optional<std::string> read_all();

 private:
  bool wait(short events) {
    pollfd entry{socket_.get(), events, 0};
    while (!deadline_.passed()) {
      const int ready = poll(&entry, 1, deadline_.remaining_milliseconds(3000));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }
  bool connect_to(const addrinfo& address);
  /// 0 at the end, -1 where the time ended or the connection broke.
  ssize_t read_more();

  const Deadline& deadline_;
  Descriptor socket_;
  std::string unread_;
};

bool Connection::connect_to(const addrinfo& address) {
  socket_ = Descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return false;
  if (connect(socket_.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !wait(POLLOUT)) return false;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

std::string Connection::open(const Place& place) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &list);
  if (error != 0) return gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  int last = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    errno = 0;
    if (connect_to(*each)) return {};
    last = errno;
  }
  return deadline_.passed() || last == 0 ? "no answer" : std::strerror(last);
}

bool Connection::send_line(const std::string& line) {
  const std::string text = line + '\n';
  std::size_t sent = 0;
  while (sent < text.size()) {
    if (!wait(POLLOUT)) return false;
    const ssize_t count = send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return true;
}

ssize_t Connection::read_more() {
  std::array<char, 4096> chunk;
  while (wait(POLLIN)) {
    const ssize_t count = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count > 0) unread_.append(chunk.data(), static_cast<std::size_t>(count));
    return count;
  }
  return -1;
}

std::optional<std::string> Connection::read_line() {
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    if (unread_.size() > kMostAnswerBytes || read_more() <= 0) return std::nullopt;
  }
  std::string line = trimmed_end(unread_.substr(0, end));
  unread_.erase(0, end + 1);
  return line;
}

std::optional<std::string> Connection::read_all() {
  ssize_t count = 1;
  while (count > 0 && unread_.size() <= kMostAnswerBytes) count = read_more();
  if (count < 0) return std::nullopt;
  return unread_;
}

RasAnswer no_answer(std::string reason) {
  RasAnswer answer;
  answer.reason = std::move(reason);
  return answer;
}

}  // namespace

RasAnswer parse_ras(std::string_view report) {
  static const std::regex kind(R"(^\s*Communicator ranks have different (\S+) operation counts$)");
  RasAnswer answer;
  std::optional<Counts> counts;
  bool in_communicators = false;
  std::istringstream stream{std::string(report)};
  for (std::string line; std::getline(stream, line);) {
    line = trimmed_end(line.substr(0, kMostLineCharacters));
    std::smatch match;
    if (counts && !read_count(line, *counts)) {
      add_behind(*counts, answer.behind);
      counts.reset();
    }
    if (std::regex_match(line, match, kind)) counts = Counts{match[1].str(), {}};
    in_communicators = in_communicators || line.starts_with("Communicators...");
    if (!in_communicators || line.empty() || line.find_first_not_of('=') == std::string::npos) {
      continue;
    }
    if (answer.lines.size() < kMostRasLines) answer.lines.push_back(line);
  }
  if (counts) add_behind(*counts, answer.behind);
  if (!in_communicators) answer.reason = "what it says is not a report of NCCL's RAS";
  return answer;
}

RasAnswer ask_ras(const std::string& address, Seconds limit) {
  const std::optional<Place> place = place_of(address);
  if (!place) return no_answer(fmt::format("'{}' is not host:port", address));
  const Deadline deadline(limit);
  Connection connection(deadline);
  const std::string refusal = connection.open(*place);
  if (!refusal.empty()) return no_answer(fmt::format("{}: {}", address, refusal));
  const std::string silent =
      fmt::format("{}: no complete answer within {:.1f} s", address, limit.value);
  if (!connection.send_line("CLIENT PROTOCOL 2")) return no_answer(silent);
  const std::optional<std::string> hello = connection.read_line();
  if (!hello) return no_answer(silent);
  if (!hello->starts_with("SERVER PROTOCOL")) {
    return no_answer(fmt::format("{}: what listens there is not NCCL's RAS", address));
  }
  // How long it waits for the job's other processes.
  if (!connection.send_line("TIMEOUT 1") || connection.read_line() != "OK") {
    return no_answer(silent);
  }
  if (!connection.send_line("VERBOSE STATUS")) return no_answer(silent);
  const std::optional<std::string> report = connection.read_all();
  return report ? parse_ras(*report) : no_answer(silent);
}

}  // namespace linkgain
