#include "linkgain/telemetry/kernel_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

struct XidRow {
  int first;
  int last;
  XidMeaning meaning;
};

constexpr std::string_view kApplication =
    "look for the fault in the program that ran then (compute-sanitizer); if it comes with every "
    "program, have the GPU tested";
constexpr std::string_view kReset =
    "stop all work on the GPU and reset it (nvidia-smi --gpu-reset) or restart the machine; if it "
    "comes again, have the GPU replaced";
constexpr std::string_view kGsp =
    "restart the machine and update the driver; if it comes again, report it with "
    "nvidia-bug-report.sh";
constexpr std::string_view kLink =
    "reseat the NVLink bridge (with a switch: look at nvidia-fabricmanager's log), reset the GPUs; "
    "if it comes again, have bridge or GPU replaced";
constexpr std::string_view kSlot =
    "restart the machine; check the power cables, the seat in the slot or riser and the cooling";

using enum XidSeverity;

constexpr std::array kRows{
    XidRow{8, 8, {"a program's work never ended", application, kApplication}},
    XidRow{13, 13, {"a program's error in a kernel", application, kApplication}},
    XidRow{31, 31, {"a program's access to memory that is not its own", application, kApplication}},
    XidRow{32, 32, {"broken commands reached the GPU", degraded, kSlot}},
    XidRow{43, 43, {"a program's channel was reset", application, kApplication}},
    XidRow{45, 45, {"a program was ended while it ran", application, kApplication}},
    XidRow{48, 48, {"memory error that could not be corrected", broken, kReset}},
    XidRow{61, 62, {"the GPU's own controller stopped", broken, kReset}},
    XidRow{63,
           63,
           {"a broken row of memory was replaced", degraded,
            "reset the GPU when it is free, for the replacement to take effect"}},
    XidRow{64, 64, {"a broken row of memory could not be replaced", broken, kReset}},
    XidRow{69, 69, {"a program's error in a kernel", application, kApplication}},
    XidRow{74, 74, {"NVLink error", broken, kLink}},
    XidRow{79, 79, {"the GPU fell off the bus", broken, kSlot}},
    XidRow{92, 92, {"many corrected memory errors", degraded, kReset}},
    XidRow{94, 94, {"memory error that ended one program", degraded, kReset}},
    XidRow{95, 95, {"memory error that may reach every program", broken, kReset}},
    XidRow{109, 109, {"a program's work never ended", application, kApplication}},
    XidRow{119, 120, {"the GPU's system processor (GSP) does not answer", broken, kGsp}},
    XidRow{140, 140, {"memory error that was not recovered", broken, kReset}},
    XidRow{144, 150, {"NVLink error", broken, kLink}},
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

/// The microseconds since boot that a record's head "level,sequence,time,flags" has.
double seconds_of(std::string_view head) {
  const std::vector<std::string> fields = split(head, ',');
  if (fields.size() < 3) return 0.0;
  std::string_view time = fields[2];
  return static_cast<double>(take_number<std::uint64_t>(time).value_or(0)) * 1e-6;
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
  event.pci_bus_id = rest.substr(0, close);
  rest.remove_prefix(close + 3);
  const auto code = take_number<int>(rest);
  if (!code) return std::nullopt;
  event.code = *code;
  const std::size_t text = rest.find_first_not_of(", ");
  if (text != std::string_view::npos) event.text = rest.substr(text);
  return event;
}

std::string open_failure(int error) {
  if (error == EPERM || error == EACCES) {
    return "the kernel log may be read by root only (kernel.dmesg_restrict)";
  }
  if (error == ENOENT) return "there is no kernel log here, as in most containers";
  return fmt::format("the kernel log cannot be read: {}", std::strerror(error));
}

/// All records of an open log; each read of /dev/kmsg gives one, EPIPE says that some were
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
  if (event.from_switch) {
    const bool fatal = event.text.starts_with("Fatal");
    return {"NVSwitch error", fatal ? broken : degraded, kLink};
  }
  const auto* row = std::ranges::find_if(kRows, [&](const XidRow& each) {
    return each.first <= event.code && event.code <= each.last;
  });
  if (row != kRows.end()) return row->meaning;
  return {"not known here", degraded, "look the number up in NVIDIA's catalogue of Xid errors"};
}

std::vector<XidEvent> parse_kernel_log(std::string_view records) {
  std::vector<XidEvent> events;
  while (!records.empty()) {
    const std::size_t end = std::min(records.find('\n'), records.size());
    if (auto event = parse_record(records.substr(0, end))) events.push_back(std::move(*event));
    records.remove_prefix(std::min(end + 1, records.size()));
  }
  return events;
}

Reading<std::vector<XidEvent>> read_kernel_log(const std::filesystem::path& log) {
  const int descriptor = open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return Reading<std::vector<XidEvent>>::missing(open_failure(errno));
  const std::string records = read_records(descriptor);
  close(descriptor);
  if (records.empty()) {
    return Reading<std::vector<XidEvent>>::missing("the kernel log is empty or may not be read");
  }
  return parse_kernel_log(records);
}

}  // namespace linkgain
