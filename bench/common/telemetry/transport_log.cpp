#include "linkgain/telemetry/transport_log.hpp"

#include <algorithm>
#include <cctype>

#include "log_files.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kNvls = "NVLS";
constexpr std::string_view kMultiNodeNvlink = "P2P/MNNVL";

/// Takes hexadecimal digits: ranks and channels are decimal, devices were bus ids in older
/// versions.
bool take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(),
                                    [](unsigned char c) { return std::isxdigit(c) != 0; });
  const auto digits = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits > 0;
}

/// "12[3]"; CollNet's lines have the rank alone.
bool take_rank(std::string_view& text) {
  if (!take_number(text)) {
    return false;
  }
  return !take(text, "[") || (take_number(text) && take(text, "]"));
}

/// A transport as NCCL writes it: "SHM/direct/direct", "NET/AWS Libfabric/0/GDRDMA". Anything with
/// a colon has another line's beginning in it.
bool is_transport(std::string_view kind) {
  const std::string_view family = kind.substr(0, kind.find('/'));
  const bool named = !family.empty() && std::all_of(family.begin(), family.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  return named && family.size() + 1 < kind.size() && kind.find(':') == std::string_view::npos;
}

/// What follows "via" in a message "Channel 00/0 : 0[0] -> 1[1] [send] via ..." or
/// "CollNet 00/0 : 0 [send] via ..."; empty for every other message.
std::string_view connection_kind(std::string_view message) {
  if (!take(message, "Channel ") && !take(message, "CollNet ")) {
    return {};
  }
  if (!take_number(message) || (take(message, "/") && !take_number(message)) ||
      !take(message, " : ") || !take_rank(message) ||
      (take(message, " -> ") && !take_rank(message))) {
    return {};
  }
  if (!take(message, " [send]")) {
    take(message, " [receive]");
  }
  return take(message, " via ") && is_transport(message) ? message : std::string_view{};
}

/// NVLink multicast is no transport of channels; its buffers are announced when it is connected.
bool announces_nvls(std::string_view message) {
  return message.starts_with("NVLS comm 0x") || message == "Connected NVLS tree";
}

void count_kind(TransportLines& lines, std::string_view kind) {
  if (kind.starts_with("P2P/")) {
    ++lines.p2p;
  } else if (kind.starts_with("SHM/")) {
    ++lines.shm;
  } else if (kind.starts_with("NET/") || kind.starts_with("COLLNET/")) {
    ++lines.net;
  } else {
    ++lines.other;
  }
  if (std::find(lines.kinds.begin(), lines.kinds.end(), kind) == lines.kinds.end()) {
    lines.kinds.emplace_back(kind);
  }
}

void read_line(TransportLines& lines, std::string_view line) {
  constexpr std::string_view kMark = " NCCL INFO ";
  const std::size_t mark = line.rfind(kMark);
  if (mark == std::string_view::npos) {
    return;
  }
  std::string_view message = line.substr(mark + kMark.size());
  if (message.ends_with('\r')) {
    message.remove_suffix(1);
  }
  if (const std::string_view kind = connection_kind(message); !kind.empty()) {
    count_kind(lines, kind);
  } else if (announces_nvls(message)) {
    count_kind(lines, kNvls);
  }
}

void read_lines(TransportLines& lines, std::string_view log) {
  for (std::size_t end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
    read_line(lines, log.substr(0, end));
    log.remove_prefix(end + 1);
  }
}

bool names(const TransportLines& lines, std::string_view beginning) {
  return std::any_of(lines.kinds.begin(), lines.kinds.end(),
                     [&](const std::string& kind) { return kind.starts_with(beginning); });
}

/// Whether a transport appears that nothing here can place.
bool has_foreign_transport(const TransportLines& lines) {
  if (lines.other == 0) {
    return false;
  }
  const auto known = [](const std::string& kind) {
    return kind.starts_with("P2P/") || kind.starts_with("SHM/") || kind.starts_with("NET/") ||
           kind.starts_with("COLLNET/") || kind == kNvls;
  };
  return !names(lines, kNvls) || !std::all_of(lines.kinds.begin(), lines.kinds.end(), known);
}

}  // namespace

TransportLines parse_transport_lines(std::string_view log) {
  TransportLines lines;
  read_lines(lines, log);
  return lines;
}

TransportLines read_transport_logs(const std::filesystem::path& directory,
                                   std::string_view prefix) {
  TransportLines lines;
  for (const std::string& log : read_log_files(directory, prefix)) read_lines(lines, log);
  return lines;
}

Path path_of(const TransportLines& lines, std::optional<bool> nvlink, std::string_view algorithm) {
  const bool may_multicast = algorithm.empty() || algorithm.starts_with(kNvls);
  const bool multicast = may_multicast && names(lines, kNvls);
  const bool peer = lines.p2p > 0 || multicast;
  const int families = (peer ? 1 : 0) + (lines.shm > 0 ? 1 : 0) + (lines.net > 0 ? 1 : 0);
  if (families > 1) {
    return Path::mixed;
  }
  if (families == 0 || has_foreign_transport(lines)) {
    return Path::unknown;
  }
  if (lines.shm > 0) {
    return Path::host_memory;
  }
  if (lines.net > 0) {
    return Path::network;
  }
  if (multicast || names(lines, kMultiNodeNvlink)) {
    return Path::nvlink;
  }
  // NCCL goes through a third GPU only where NVLink leads there and not straight on.
  if (!nvlink.has_value() || (!*nvlink && names(lines, "P2P/indirect/"))) {
    return Path::unknown;
  }
  return *nvlink ? Path::nvlink : Path::pcie_p2p;
}

}  // namespace linkgain
