#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/reading.hpp"

namespace linkgain {

/// An error that a GPU ("Xid") or an NVSwitch ("SXid") reported through its driver.
struct XidEvent {
  std::string pci_bus_id{};  ///< "0000:41:00", as the driver writes it
  int code = 0;
  std::string text{};  ///< what the driver wrote after the code
  bool from_switch = false;
  double seconds_after_boot = 0.0;
  bool is_past = false;  ///< it came before the driver was last loaded: it says nothing of now
  bool operator==(const XidEvent&) const = default;
};

/// How bad an error is: the application's own fault; to be looked at; the GPU or link is broken or
/// needs a reset.
enum class XidSeverity { application, degraded, broken };

/// What an error means: by its code, as NVIDIA's catalogue of Xid errors has it; of NVLink's and
/// NVSwitch's errors by the word "Fatal" or "Nonfatal" of their text, too.
struct XidMeaning {
  /// "fell off the bus", "NVLink error on link 13, not fatal"; for an unknown code "not known
  /// here".
  std::string what;
  XidSeverity severity = XidSeverity::degraded;
  std::string_view advice;
};
XidMeaning meaning_of(const XidEvent& event);

/// Returns the errors among records of /dev/kmsg ("4,1234,5678901,-;NVRM: Xid (PCI:0000:41:00): 79,
/// ..."), oldest first; a GPU that the driver lost without naming an Xid is one of code 79.
std::vector<XidEvent> parse_kernel_log(std::string_view records);

/// Reads what the kernel's log holds now, without waiting for more. Missing where it may not be
/// read, with the reason.
Reading<std::vector<XidEvent>> read_kernel_log(const std::filesystem::path& log);

}  // namespace linkgain
