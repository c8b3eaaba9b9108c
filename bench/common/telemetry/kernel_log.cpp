#include "linkgain/telemetry/kernel_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

struct XidRow {
  int first;
  int last;
  std::string_view what;
  XidSeverity severity;
  std::string_view advice;
};

constexpr std::string_view kApplication =
    "look for the fault in the program that ran then (compute-sanitizer); if it comes with every "
    "program, have the GPU tested";
constexpr std::string_view kReset =
    "stop all work on the GPU, reset it (nvidia-smi --gpu-reset) and load the driver again, or "
    "restart the machine; if it comes again, have the GPU replaced";
constexpr std::string_view kGsp =
    "restart the machine and update the driver; if it comes again, report it with "
    "nvidia-bug-report.sh";
constexpr std::string_view kLink =
    "reseat the NVLink bridge (with a switch: look at nvidia-fabricmanager's log), reset the GPUs "
    "and load the "
    "driver again, or restart the machine; if it comes again, have bridge or GPU replaced";
constexpr std::string_view kRecoveredLink =
    "the link recovered by itself; if it comes often, reseat the NVLink bridge or have it tested "
    "(with a switch: look at nvidia-fabricmanager's log)";
constexpr std::string_view kSlot =
    "restart the machine; check the power cables, the seat in the slot or riser and the cooling";

using enum XidSeverity;

/// NVLink's errors: of GPUs before Blackwell, and of those since, whose text says "Fatal" or
/// "Nonfatal".
constexpr int kNvlinkXid = 74;
constexpr int kFirstNvlinkXid = 144;
constexpr int kLastNvlinkXid = 150;
constexpr int kFellOffTheBus = 79;

constexpr std::array kRows{
    XidRow{8, 8, "a program's work never ended", application, kApplication},
    XidRow{13, 13, "a program's error in a kernel", application, kApplication},
    XidRow{31, 31, "a program's access to memory that is not its own", application, kApplication},
    XidRow{32, 32, "broken commands reached the GPU", degraded, kSlot},
    XidRow{43, 43, "a program's channel was reset", application, kApplication},
    XidRow{45, 45, "a program was ended while it ran", application, kApplication},
    XidRow{48, 48, "memory error that could not be corrected", broken, kReset},
    XidRow{61, 62, "the GPU's own controller stopped", broken, kReset},
    XidRow{63, 63, "a broken row of memory was replaced", degraded,
           "reset the GPU when it is free, for the replacement to take effect"},
    XidRow{64, 64, "a broken row of memory could not be replaced", broken, kReset},
    XidRow{69, 69, "a program's error in a kernel", application, kApplication},
    XidRow{kFellOffTheBus, kFellOffTheBus, "the GPU fell off the bus", broken, kSlot},
    XidRow{92, 92, "many corrected memory errors", degraded, kReset},
    XidRow{94, 94, "memory error that ended one program", degraded, kReset},
    XidRow{95, 95, "memory error that may reach every program", broken, kReset},
    XidRow{109, 109, "a program's work never ended", application, kApplication},
    XidRow{119, 120, "the GPU's system processor (GSP) does not answer", broken, kGsp},
    XidRow{140, 140, "memory error that was not recovered", broken, kReset},
};

/// Takes a number off the front of `text`.
template <typename T>
std::optional<T> take_number(std::string_view& text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Returns the microseconds since boot that a record's head "level,sequence,time,flags" has.
double seconds_of(std::string_view head) {
  const std::vector<std::string> fields = split(head, ',');
  if (fields.size() < 3) return 0.0;
  std::string_view time = fields[2];
  return static_cast<double>(take_number<std::uint64_t>(time).value_or(0)) * 1e-6;
}

/// Returns whether a driver's text calls its error fatal; absent where it says nothing of it. The
/// last such word counts: the names of programs stand before the message.
std::optional<bool> says_fatal(std::string_view text) {
  const std::string capitals = upper(text);
  constexpr std::string_view kFatal = "FATAL";
  const std::size_t word = capitals.rfind(kFatal);
  if (word == std::string::npos) return std::nullopt;
  const std::string_view before = std::string_view(capitals).substr(0, word);
  return !(before.ends_with("NON") || before.ends_with("NON-"));
}

/// Returns the number of the link that the text names last, as in "Link 13" or "on link 3(0x10000".
std::optional<int> link_in(std::string_view text) {
  const std::string capitals = upper(text);
  const std::size_t word = capitals.rfind("LINK ");
  if (word == std::string::npos) return std::nullopt;
  std::string_view rest =
      std::string_view(capitals).substr(word + std::string_view("LINK ").size());
  return take_number<int>(rest);
}

XidMeaning meaning_of_link_error(std::string_view name, const XidEvent& event, bool fatal) {
  const std::optional<int> link = link_in(event.text);
  std::string what(name);
  if (link) what += fmt::format(" on link {}", *link);
  if (fatal) return {what, broken, kLink};
  return {what + ", not fatal", degraded, kRecoveredLink};
}

bool is_of_nvlink(int code) {
  return code == kNvlinkXid || (kFirstNvlinkXid <= code && code <= kLastNvlinkXid);
}

std::optional<XidEvent> parse_record(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  const std::size_t start = record.find("Xid (PCI:");
  if (semicolon == std::string_view::npos || start == std::string_view::npos) return std::nullopt;
  if (start < semicolon) return std::nullopt;
  XidEvent event;
  event.from_switch = start > 0 && record[start - 1] == 'S';
  event.seconds_after_boot = seconds_of(record.substr(0, semicolon));
  std::string_view rest = record.substr(start + std::string_view("Xid (PCI:").size());
  const std::size_t close = rest.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  event.pci_bus_id = rest.substr(0, rest.find_first_of(" )"));  // " GPU-I:03" of a MIG instance
  rest.remove_prefix(close + 3);
  const auto code = take_number<int>(rest);
  if (!code) return std::nullopt;
  event.code = *code;
  const std::size_t text = rest.find_first_not_of(", ");
  if (text != std::string_view::npos) event.text = rest.substr(text);
  return event;
}

bool has(std::string_view record, std::string_view text) {
  return record.find(text) != std::string_view::npos;
}

std::string open_failure(int error) {
  if (error == EPERM || error == EACCES) {
    return "the kernel log may be read by root only (kernel.dmesg_restrict)";
  }
  if (error == ENOENT) return "there is no kernel log here, as in most containers";
  return fmt::format("the kernel log cannot be read: {}", std::strerror(error));
}

constexpr std::string_view kLostGpu = "NVRM: The NVIDIA GPU ";

/// Reads that a GPU was gone when the driver looked for it, which the driver says without a number,
/// in three lines: an event like Xid 79. `records` begins with the first of them.
std::optional<XidEvent> parse_lost_gpu(std::string_view records) {
  const std::size_t start = records.substr(0, records.find('\n')).find(kLostGpu);
  if (start == std::string_view::npos) return std::nullopt;
  constexpr int kLines = 3;
  std::size_t end = 0;
  for (int i = 0; i < kLines && end != std::string_view::npos; ++i) {
    end = records.find('\n', end == 0 ? 0 : end + 1);
  }
  const std::string_view message = records.substr(start + kLostGpu.size(), end - start);
  if (message.find("fallen off the bus") == std::string_view::npos) return std::nullopt;
  XidEvent event;
  event.code = kFellOffTheBus;
  event.pci_bus_id = message.substr(0, message.find_first_of(" \\\n"));
  event.text = "GPU has fallen off the bus and is not responding to commands.";
  event.seconds_after_boot = seconds_of(records.substr(0, records.find(';')));
  return event;
}

/// Returns all records of an open log; each read of /dev/kmsg gives one, EPIPE says that some were
/// overwritten meanwhile.
std::string read_records(int log) {
  std::string records;
  std::array<char, 8192> chunk;
  constexpr std::size_t kMost = std::size_t{64} << 20;
  while (records.size() < kMost) {
    const ssize_t count = read(log, chunk.data(), chunk.size());
    if (count > 0) {
      records.append(chunk.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EPIPE && errno != EINTR)) {
      break;
    }
  }
  return records;
}

}  // namespace

XidMeaning meaning_of(const XidEvent& event) {
  const std::optional<bool> fatal = says_fatal(event.text);
  if (event.from_switch) return meaning_of_link_error("NVSwitch error", event, fatal == true);
  if (is_of_nvlink(event.code)) {
    // Without the word the older code means an error that was not corrected.
    return meaning_of_link_error("NVLink error", event, fatal.value_or(event.code == kNvlinkXid));
  }
  const auto* row = std::ranges::find_if(kRows, [&](const XidRow& each) {
    return each.first <= event.code && event.code <= each.last;
  });
  if (row != kRows.end()) return {std::string(row->what), row->severity, row->advice};
  return {"not known here", degraded, "look the number up in NVIDIA's catalogue of Xid errors"};
}

std::vector<XidEvent> parse_kernel_log(std::string_view records) {
  std::vector<XidEvent> events;
  std::optional<std::ptrdiff_t> before_load;  // how many, while a driver is being loaded
  while (!records.empty()) {
    const std::size_t end = std::min(records.find('\n'), records.size());
    const std::string_view record = records.substr(0, end);
    if (auto event = parse_record(record)) events.push_back(std::move(*event));
    if (auto event = parse_lost_gpu(records)) events.push_back(std::move(*event));
    // The driver says the one before it looks for GPUs, the other after that.
    if (has(record, "Nvlink Core is being initialized")) before_load = std::ssize(events);
    if (has(record, ";NVRM: loading NVIDIA UNIX")) {
      const std::ptrdiff_t past = before_load.value_or(std::ssize(events));
      for (XidEvent& event : std::span(events).first(static_cast<std::size_t>(past))) {
        event.is_past = true;
      }
      before_load.reset();
    }
    records.remove_prefix(std::min(end + 1, records.size()));
  }
  return events;
}

Reading<std::vector<XidEvent>> read_kernel_log(const std::filesystem::path& log) {
  const int descriptor = open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return Missing{open_failure(errno)};
  const std::string records = read_records(descriptor);
  close(descriptor);
  if (records.empty()) {
    return Missing{"the kernel log is empty or may not be read"};
  }
  return parse_kernel_log(records);
}

}  // namespace linkgain
