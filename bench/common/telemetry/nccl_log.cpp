#include "linkgain/telemetry/nccl_log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "linkgain/base/first_of_each.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// Takes the prefix off the text where it begins so; else leaves the text as it is.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Gives the message of each complete line of NCCL's to `read`. Other output may stand before the
/// line's beginning, on the same line.
template <typename Read>
void for_each_message(std::string_view log, const Read& read) {
  constexpr std::string_view kMark = " NCCL INFO ";
  for (std::size_t end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
    const std::string_view line = log.substr(0, end);
    const std::size_t mark = line.rfind(kMark);
    if (mark != std::string_view::npos) read(line.substr(mark + kMark.size()));
    log.remove_prefix(end + 1);
  }
}

constexpr std::string_view kNvls = "NVLS";
constexpr std::string_view kMultiNodeNvlink = "P2P/MNNVL";

/// Takes hexadecimal digits: ranks and channels are decimal, devices were bus ids in older
/// versions.
bool take_hexadecimal(std::string_view& text) {
  const auto end =
      std::ranges::find_if_not(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
  const auto digits = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits > 0;
}

/// Reads a number of at most three digits; absent for bus ids, which end with three zeros.
std::optional<int> short_number(std::string_view digits) {
  constexpr std::size_t kMost = 3;
  return digits.size() > kMost ? std::nullopt : whole_number<int>(digits);
}

/// Takes "12[3]", of which CollNet's lines have the rank alone, and gives the device that it names,
/// else the rank; absent where there is neither.
std::optional<int> take_rank(std::string_view& text) {
  const std::string_view rank = text;
  if (!take_hexadecimal(text)) return std::nullopt;
  const std::optional<int> number = short_number(rank.substr(0, rank.size() - text.size()));
  if (!take(text, "[")) return number;
  const std::string_view device = text;
  if (!take_hexadecimal(text)) return std::nullopt;
  const std::optional<int> named = short_number(device.substr(0, device.size() - text.size()));
  return take(text, "]") ? (named ? named : number) : std::nullopt;
}

/// Returns a transport as NCCL writes it: "SHM/direct/direct", "NET/AWS Libfabric/0/GDRDMA".
/// Anything with a colon has another line's beginning in it.
bool is_transport(std::string_view kind) {
  const std::string_view family = kind.substr(0, kind.find('/'));
  const bool named = !family.empty() && std::ranges::all_of(family, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  return named && family.size() + 1 < kind.size() && kind.find(':') == std::string_view::npos;
}

/// Reads a message "Channel 00/0 : 0[0] -> 1[1] [send] via ..." or "CollNet 00/0 : 0 [send] via
/// ..."; absent for every other.
std::optional<NcclConnection> connection_of(std::string_view message) {
  if (!take(message, "Channel ") && !take(message, "CollNet ")) return std::nullopt;
  if (!take_hexadecimal(message) || (take(message, "/") && !take_hexadecimal(message)) ||
      !take(message, " : ")) {
    return std::nullopt;
  }
  NcclConnection connection;
  const std::optional<int> from = take_rank(message);
  if (!from) return std::nullopt;
  if (take(message, " -> ")) {
    connection.from = from;
    connection.to = take_rank(message);
    if (!connection.to) return std::nullopt;
  }
  if (!take(message, " [send]")) {
    take(message, " [receive]");
  }
  if (!take(message, " via ") || !is_transport(message)) return std::nullopt;
  connection.transport = message;
  return connection;
}

/// Recognises the announcement of NVLink multicast's buffers when it is connected: it is no
/// transport of channels.
bool announces_nvls(std::string_view message) {
  return message.starts_with("NVLS comm 0x") || message == "Connected NVLS tree";
}

void count_connection(TransportLines& lines, const NcclConnection& connection) {
  const std::string& kind = connection.transport;
  if (kind.starts_with("P2P/")) {
    ++lines.p2p;
  } else if (kind.starts_with("SHM/")) {
    ++lines.shm;
  } else if (kind.starts_with("NET/") || kind.starts_with("COLLNET/")) {
    ++lines.net;
  } else {
    ++lines.other;
  }
  lines.kinds.push_back(kind);
  lines.connections.push_back(connection);
}

/// Leaves each once, as all that is returned has it.
TransportLines distinct(TransportLines lines) {
  keep_first_of_each(lines.kinds);
  keep_first_of_each(lines.connections);
  keep_first_of_each(lines.algorithms);
  return lines;
}

/// Network adapters by what stands for them in transports: "NET/IB/0" → "NET/IB/mlx5_0:1".
using Adapters = std::map<std::string, std::string>;

/// Reads "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>" and
/// "NET/Socket : Using [0]eth0:10.0.0.1<0>"; returns false for every other message.
bool take_adapters(std::string_view message, Adapters& adapters) {
  constexpr std::string_view kUsing = " : Using ";
  const std::size_t begin = message.find(kUsing);
  if (!message.starts_with("NET/") || begin == std::string_view::npos) return false;
  const std::string network = fmt::format("{}/", message.substr(0, begin));
  const char end_of_name = network == "NET/IB/" ? '/' : ':';  // an adapter has ports
  message = message.substr(0, message.find(';'));
  for (const std::string& each : split(message.substr(begin + kUsing.size()), ' ')) {
    const std::size_t close = each.find(']');
    if (!each.starts_with('[') || close == std::string::npos) continue;
    const std::string number = each.substr(1, close - 1);
    const std::string name = each.substr(close + 1, each.find(end_of_name, close) - close - 1);
    if (whole_number<int>(number) && !name.empty()) adapters[network + number] = network + name;
  }
  return true;
}

/// Puts the adapter's name in the place of its number.
void name_adapter(NcclConnection& connection, const Adapters& adapters) {
  std::string& transport = connection.transport;
  const std::size_t number = transport.find('/', transport.find('/') + 1) + 1;
  const std::size_t end =
      std::min(transport.size(), transport.find_first_not_of("0123456789", number));
  const auto known = adapters.find(transport.substr(0, end));
  if (known != adapters.end()) transport.replace(0, end, known->second);
}

/// Reads "Connected all rings, use ring PXN 0 GDR 1" and "NCCL_ALGO set by environment to Ring";
/// empty for every other message.
std::string algorithm_of(std::string_view message) {
  if (take(message, "Connected all ")) return std::string(message.substr(0, message.find(',')));
  if (message == "Connected binomial trees") return "binomial trees";
  for (const std::string_view name : {"NCCL_ALGO", "NCCL_PROTO"}) {
    std::string_view value = message;
    if (take(value, name) && take(value, " set by environment to ")) {
      return fmt::format("{}={}", name, value);
    }
  }
  return {};
}

void read_lines(TransportLines& lines, std::string_view log) {
  Adapters adapters;
  for_each_message(log, [&](std::string_view message) {
    if (message.ends_with('\r')) message.remove_suffix(1);
    if (auto connection = connection_of(message)) {
      name_adapter(*connection, adapters);
      count_connection(lines, *connection);
    } else if (take_adapters(message, adapters)) {
      return;
    } else if (const std::string said = algorithm_of(message); !said.empty()) {
      lines.algorithms.push_back(said);
    } else if (announces_nvls(message)) {
      count_connection(lines, {.transport = std::string(kNvls)});
    } else if (take(message, "NCCL version ")) {
      lines.version = message;
    }
  });
}

bool names(const TransportLines& lines, std::string_view beginning) {
  return std::ranges::any_of(lines.kinds,
                             [&](const std::string& kind) { return kind.starts_with(beginning); });
}

/// Returns whether a transport appears that nothing here can place.
bool has_foreign_transport(const TransportLines& lines) {
  if (lines.other == 0) return false;
  const auto known = [](const std::string& kind) {
    return kind.starts_with("P2P/") || kind.starts_with("SHM/") || kind.starts_with("NET/") ||
           kind.starts_with("COLLNET/") || kind == kNvls;
  };
  return !names(lines, kNvls) || !std::ranges::all_of(lines.kinds, known);
}

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) {
  return Seconds{std::chrono::duration<double>(Clock::now() - start).count()};
}

/// Takes a decimal number without sign.
std::optional<std::int64_t> take_decimal(std::string_view& text) {
  const std::size_t digits = std::min(text.size(), text.find_first_not_of("0123456789"));
  const auto number = whole_number<std::int64_t>(text.substr(0, digits));
  text.remove_prefix(digits);
  return number;
}

/// Takes a word and the space after it, without which it may have been cut; empty where there is
/// none.
std::string_view take_word(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(space + 1);
  return word;
}

bool is_name(std::string_view word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
         std::ranges::all_of(word,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// Takes a name, in capitals; empty for "Unknown" and for everything that is none.
std::string take_name(std::string_view& text) {
  const std::string_view word = take_word(text);
  if (!is_name(word)) return {};
  std::string name = upper(word);
  return name == "UNKNOWN" ? std::string{} : name;
}

/// Takes a collective's name by ncclFuncToString(); absent where there is none.
std::optional<OperationKind> take_operation(std::string_view& message) {
  using Name = std::pair<std::string_view, OperationKind>;
  static constexpr std::array kCollectives{
      Name{"AllReduce", OperationKind::all_reduce},
      Name{"AllGather", OperationKind::all_gather},
      Name{"ReduceScatter", OperationKind::reduce_scatter},
      Name{"Broadcast", OperationKind::broadcast},
      Name{"Reduce", OperationKind::reduce},
  };
  for (const auto& [name, operation] : kCollectives) {
    if (take(message, name)) return operation;
  }
  return std::nullopt;
}

/// Counts the blocks of "channel{Lo..Hi}={0..23}" and of "nchannels 24": each channel has one.
std::optional<int> blocks_of(std::string_view message) {
  const bool is_range = take(message, "channel{Lo..Hi}={");
  if (!is_range && !take(message, "nchannels ")) return std::nullopt;
  std::optional<std::int64_t> count = take_decimal(message);
  if (is_range && count) {
    const auto last = take(message, "..") ? take_decimal(message) : std::nullopt;
    count = last && message.starts_with('}') ? std::optional(*last - *count + 1) : std::nullopt;
  }
  constexpr std::int64_t kMost = 1 << 20;
  return count && *count > 0 && *count <= kMost ? std::optional<int>(*count) : std::nullopt;
}

/// Reads "AllReduce: 8 Bytes -> Algo RING proto LL channel..." and of symmetric memory "AllReduce
/// [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R nchannels..."
std::optional<TunedCall> read_call(std::string_view message) {
  const std::optional<OperationKind> operation = take_operation(message);
  if (!operation) return std::nullopt;
  const bool is_symmetric = take(message, " [Symmetric]");
  const auto size = take(message, ": ") ? take_decimal(message) : std::nullopt;
  if (!size || !take(message, is_symmetric ? " Bytes -> Kernel " : " Bytes -> Algo ")) {
    return std::nullopt;
  }
  TunedCall call{*operation, Bytes{*size}, {take_name(message), {}}};
  if (take(message, "proto ")) call.plan.protocol = take_name(message);
  const bool is_whole = is_symmetric || !call.plan.protocol.empty();
  if (call.plan.algorithm.empty() || !is_whole) return std::nullopt;
  call.plan.blocks = blocks_of(message);
  return call;
}

/// Returns the size that NCCL logs for a case.
Bytes logged_size(const Case& c) {
  const bool part =
      c.operation == OperationKind::all_gather || c.operation == OperationKind::reduce_scatter;
  return part ? Bytes{c.size.value / c.ranks} : c.size;
}

}  // namespace

std::vector<std::filesystem::path> log_files(const NcclLogFiles& logs) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(logs.folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().filename().string().starts_with(logs.prefix) &&
        entry->is_regular_file(unknown)) {
      files.push_back(entry->path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> read_log_files(const std::filesystem::path& directory,
                                        std::string_view prefix) {
  std::vector<std::string> contents;
  for (const std::filesystem::path& file :
       log_files({.folder = directory, .prefix = std::string(prefix)})) {
    contents.push_back(read_regular_file(file).value_or(""));
  }
  return contents;
}

TransportLines parse_transport_lines(std::string_view log) {
  TransportLines lines;
  read_lines(lines, log);
  return distinct(std::move(lines));
}

bool is_by_p2p(const NcclConnection& connection) {
  return connection.transport.starts_with("P2P/") || connection.transport == kNvls;
}

TransportLines lines_of(const std::vector<NcclConnection>& connections) {
  TransportLines lines;
  for (const NcclConnection& each : connections) count_connection(lines, each);
  return distinct(std::move(lines));
}

TransportLines read_transport_logs(const NcclLogFiles& files) {
  TransportLines lines;
  for (const std::string& log : read_log_files(files.folder, files.prefix)) read_lines(lines, log);
  return distinct(std::move(lines));
}

Environment log_variables(const NcclLogFiles& files) {
  return {{"NCCL_DEBUG", "INFO"},
          {"NCCL_DEBUG_SUBSYS", "INIT,ENV"},
          {"NCCL_DEBUG_FILE", files.pattern}};
}

Path path_of(const TransportLines& lines, std::optional<bool> nvlink, Algorithm algorithm) {
  const bool may_multicast = algorithm == Algorithm::unnamed || algorithm == Algorithm::nvls;
  const bool multicast = may_multicast && names(lines, kNvls);
  const bool peer = lines.p2p > 0 || multicast;
  const int families = (peer ? 1 : 0) + (lines.shm > 0 ? 1 : 0) + (lines.net > 0 ? 1 : 0);
  if (families > 1) return Path::mixed;
  if (families == 0 || has_foreign_transport(lines)) return Path::unknown;
  if (lines.shm > 0) return Path::host_memory;
  if (lines.net > 0) return Path::network;
  if (multicast || names(lines, kMultiNodeNvlink)) return Path::nvlink;
  // NCCL goes through a third GPU only where NVLink leads there and not straight on.
  if (!nvlink.has_value() || (!*nvlink && names(lines, "P2P/indirect/"))) return Path::unknown;
  return *nvlink ? Path::nvlink : Path::pcie_p2p;
}

std::vector<std::string> parse_diagnosis_lines(std::string_view log) {
  constexpr std::string_view kMark = " NCCL DIAG [";
  constexpr std::string_view kSubject = "p2p:";
  std::vector<std::string> found;
  for (const std::string& line : split(log, '\n')) {
    const std::size_t mark = line.find(kMark);
    const std::size_t subject = line.find(kSubject);
    if (mark == std::string::npos || subject == std::string::npos) continue;
    const std::size_t begin = mark + kMark.size() - 1;
    const std::size_t end = line.find(']', begin);
    if (end > subject) continue;
    found.push_back(line.substr(begin, end + 1 - begin) + line.substr(subject + kSubject.size()));
  }
  return found;
}

std::vector<TunedCall> parse_tuning_lines(std::string_view log) {
  std::vector<TunedCall> calls;
  for_each_message(log, [&](std::string_view message) {
    if (const auto call = read_call(message)) calls.push_back(*call);
  });
  return calls;
}

TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls) {
  if (!has_algorithm(c.operation)) return default_plan(c);
  const auto last = std::find_if(calls.rbegin(), calls.rend(), [&](const TunedCall& call) {
    return call.operation == c.operation && call.size == logged_size(c);
  });
  return last != calls.rend() ? last->plan : default_plan(c);
}

std::string expand_log_pattern(const std::string& pattern, const std::string& host, int process) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      text += pattern[i];
      continue;
    }
    const char kind = pattern[++i];
    if (kind == 'h') {
      text += host.substr(0, host.find('.'));
    } else if (kind == 'p') {
      text += std::to_string(process);
    } else {
      text += kind == '%' ? std::string("%") : std::string("%") + kind;
    }
  }
  return text;
}

CallLog::CallLog(LogSwitch log_switch) : log_switch_(log_switch) {
  const char* pattern = std::getenv("NCCL_DEBUG_FILE");
  if (log_switch_ == nullptr || pattern == nullptr || *pattern == '\0') return;
  const std::string own = expand_log_pattern(pattern, host_name(), ::getpid());
  std::error_code unknown;
  for (const char* const ending : {".now", ".kept"}) {
    if (std::filesystem::exists(std::filesystem::symlink_status(own + ending, unknown))) return;
  }
  now_ = own + ".now";
  kept_ = own + ".kept";
}

std::optional<LoggedCalls> CallLog::watch(const std::function<void()>& work) const {
  if (now_.empty()) {
    work();
    return std::nullopt;
  }
  const Clock::time_point start = Clock::now();
  turn(true);
  const Clock::time_point before_work = Clock::now();
  work();
  const Seconds worked = since(before_work);
  LoggedCalls logged;
  logged.text = turn(false);
  logged.cost = Seconds{since(start).value - worked.value};
  return logged;
}

/// Returns what was logged since the last turn.
std::string CallLog::turn(bool calls_logged) const {
  std::string text = read_regular_file(now_).value_or("");
  std::ofstream(kept_, std::ios::binary | std::ios::app) << text;
  // NCCL opens its file at its next line only, which may be long after the next turn.
  std::error_code missing;
  std::filesystem::resize_file(now_, 0, missing);
  ::setenv("NCCL_DEBUG_FILE", now_.c_str(), 1);
  ::setenv("NCCL_DEBUG_SUBSYS", calls_logged ? "INIT,ENV,TUNING" : "INIT,ENV", 1);
  log_switch_();
  return text;
}

}  // namespace linkgain
