#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/names.hpp"

namespace linkgain {

/// The driver's PCIe counters wrap here.
inline constexpr std::int64_t kPcieModulus = std::int64_t{1} << 32;

/// Cumulative counters of one GPU's links, in bytes. Absent means not measured.
struct LinkCounters {
  std::optional<std::int64_t> nvlink_sent;
  std::optional<std::int64_t> nvlink_received;
  /// The driver counts these modulo 2^32; a difference is taken so.
  std::optional<std::int64_t> pcie_sent;
  std::optional<std::int64_t> pcie_received;
  bool operator==(const LinkCounters&) const = default;
};

/// Why a GPU lacks counters; empty where it has both of the kind.
struct AbsentCounters {
  std::string nvlink;
  std::string pcie;
};

/// Returns one counter's growth for each member; absent where either end is, and for NVLink where
/// the counter went backwards (a driver that was loaded anew).
LinkCounters growth(const LinkCounters& before, const LinkCounters& after);

enum class ErrorKind {
  nvlink_replays,     ///< of packets that arrived damaged
  nvlink_recoveries,  ///< of links that were trained anew
  nvlink_crc_errors,
  nvlink_outages,  ///< 1 while a link that was up when the run began is down or cannot be read
  pcie_replays,
  xid,  ///< errors that the driver logged of the GPU; there are none when a run begins
};

template <>
inline constexpr auto kNames<ErrorKind> =
    names<ErrorKind>("counter of errors", {{ErrorKind::nvlink_replays, "replays"},
                                           {ErrorKind::nvlink_recoveries, "recoveries"},
                                           {ErrorKind::nvlink_crc_errors, "crc_errors"},
                                           {ErrorKind::nvlink_outages, "outages"},
                                           {ErrorKind::pcie_replays, "pcie_replays"},
                                           {ErrorKind::xid, "xid"}});

/// One counter of one GPU; NVLink's are of one link each.
struct ErrorCounter {
  int gpu = 0;  ///< as CUDA numbers the visible ones; of a program's run as nvidia-smi does
  ErrorKind kind = ErrorKind::pcie_replays;
  std::optional<int> link{};  ///< counts from 0
  std::optional<int> peer{};  ///< the GPU at the link's other end, if the driver names one
  auto operator<=>(const ErrorCounter&) const = default;
};

/// Returns "NVLink 3 of GPU 0 (to GPU 1)", "GPU 0's PCIe link", "GPU 0".
std::string place_of(const ErrorCounter& counter);
/// Returns "12 CRC errors of NVLink 3 of GPU 0 (to GPU 1)".
std::string errors_text(const ErrorCounter& counter, std::int64_t errors);

/// What a counter said at one reading.
struct ErrorCount {
  ErrorCounter counter;
  std::int64_t value = 0;
};
using ErrorCounts = std::vector<ErrorCount>;

/// A counter over a run.
struct CountedErrors {
  ErrorCounter counter;
  std::int64_t at_begin = 0;
  std::int64_t growth = 0;
  bool operator==(const CountedErrors&) const = default;
};

/// What was added between two readings.
struct ErrorGrowth {
  double after_s = 0.0;  ///< since the run began, of the later one
  ErrorCounter counter;
  std::int64_t growth = 0;
  bool operator==(const ErrorGrowth&) const = default;
};

/// What a run saw of them: before its first launch, or run of a program, and at the end of each.
struct LinkErrors {
  int readings = 0;
  std::vector<CountedErrors> counters{};
  std::vector<ErrorGrowth> grown{};  ///< in the order of time
  bool operator==(const LinkErrors&) const = default;
};

/// Adds a reading by what each counter gained since the one `before`; one that it lacks begins now.
/// A counter that went back, as of a driver that was loaded anew, gained nothing.
void add_reading(LinkErrors& errors, const ErrorCounts& before, const ErrorCounts& now,
                 double after_s);

/// The readings of a run, or of the part of it that goes on, one after the other.
class ErrorReadings {
 public:
  /// Adds one to `errors`, which one without counters leaves as they are. Returns what was added
  /// since the last one, a line each to be told at once.
  std::vector<std::string> add(std::optional<LinkErrors>& errors, ErrorCounts now, double after_s);

 private:
  ErrorCounts last_;
};

/// Returns the counters that grew, most first.
std::vector<CountedErrors> grown_counters(const LinkErrors& errors);

/// Says which counters grew, "12 CRC errors of NVLink 3 of GPU 0 (to GPU 1)", most first.
std::vector<std::string> grown_texts(const std::optional<LinkErrors>& errors);

/// Says "Link errors: none in 7 readings of 37 counters", or which counters grew; empty if none
/// could be read.
std::string link_errors_line(const std::optional<LinkErrors>& errors);

/// What is to be done about it.
inline constexpr const char* kLinkErrorsAdvice =
    "run linkgain doctor: it says what each counter means; reseat bridge or card, and have a part "
    "replaced whose errors go on";

}  // namespace linkgain
