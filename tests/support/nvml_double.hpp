#pragma once

#include <array>
#include <map>
#include <string_view>

#include "nvml_library.hpp"

/// What the NVML double answers. LINKGAIN_NVML_SCENARIO, read at nvmlInit_v2, names a scenario:
///
/// | scenario            | GPUs          | matrix | what is particular                            |
/// | ------------------- | ------------- | ------ | --------------------------------------------- |
/// | h200x2              | 2 x H200      | NV18   | NVSwitch; what such a machine answered        |
/// | h200x1              | 1 x H200      | -      | a GPU alone                                   |
/// | h200x4, h200x8      | 4, 8 x H200   | NV18   | 8: two sockets of 4 (NODE inside, SYS across) |
/// | titan-rtx-nv2       | 2 x TITAN RTX | NV2    | an old driver: no link count (field 91) and   |
/// |                     |               |        | no speed per link (164), the common one (90)  |
/// | titan-rtx-phb       | 2 x TITAN RTX | PHB    | 2 links, both down: no bridge; no P2P         |
/// | h100-nvl            | 2 x H100 NVL  | NV12   | 12 of 18 links, all of three bridges          |
/// | rtx3090-nv4         | 2 x RTX 3090  | NV4    | 4 of 4 links of 14.0625 GB/s, a bridge        |
/// | rtx3090-no-bridge   | 2 x RTX 3090  | PHB    | 4 links possible, 0 active; no P2P            |
/// | rtx4090             | 2 x RTX 4090  | PHB    | no NVLink, no P2P                             |
/// | rtx4090-p2p         | 2 x RTX 4090  | PHB    | the same, but a patched driver grants P2P     |
/// | no-nvlink, phb      | 2 x L4        | PHB    | no NVLink ("Not Supported"), no P2P           |
/// | little-memory       | 2 x L4        | PHB    | the same, but 1 GiB of memory                 |
/// | nvlink-count-0      | 2 x L4        | PHB    | the same, but field 91 answers 0              |
/// | one-link-down       | 2 x H200      | NV17   | link 0 of each is down                        |
/// | p2p-refused         | 2 x RTX 3090  | NV4    | links active, reads and writes refused        |
/// |                     |               |        | (chipset not supported)                       |
/// | p2p-read-only       | 2 x H200      | NV18   | writes and atomics not supported              |
/// | p2p-unknown         | 2 x H200      | ?      | every P2P status is unknown                   |
/// | p2p-error           | 2 x H200      | ?      | P2P status fails (999)                        |
/// | throttling          | 2 x RTX 3090  | NV4    | GPU 0: 96 C, thermal slowdown (0x48); GPU 1:  |
/// |                     |               |        | power brake (0x88), limit 200 W of 350 W      |
/// | draws-too-much      | 2 x L4        | PHB    | GPU 1: 612 W of 72 W                          |
/// | pcie-trained-down   | 2 x TITAN RTX | PHB    | GPU 1: generation 1 of 3, 4 lanes of 16       |
/// | lost-gpu            | 2 x H200      | -      | GPU 1: every call fails, "GPU is lost" (15)   |
/// | lost-gpu-at-start   | 2 x H200      | -      | and NVML hands out no handle for it           |
/// | persistence-off     | 2 x H200      | NV18   | persistence mode off                          |
/// | exclusive           | 2 x H200      | NV18   | compute mode exclusive process                |
/// | prohibited          | 2 x H200      | NV18   | compute mode prohibited                       |
/// | remap-pending       | 2 x H200      | NV18   | GPU 1: memory rows wait for a reset           |
/// | remap-failed        | 2 x H200      | NV18   | GPU 1: a row could not be replaced            |
/// | mig                 | 2 x H200      | NV18   | both GPUs are split by MIG, P2P is refused    |
/// | mig-one             | 2 x H200      | NV18   | the same of GPU 1 alone                       |
/// | mig-lost-gpu        | 2 x H200      | -      | mig, and GPU 1: "GPU is lost" (15)            |
/// | mig-one-lost-gpu    | 2 x H200      | -      | mig-one, and GPU 0: the same                  |
/// | mig-remap-failed    | 2 x H200      | NV18   | mig, and GPU 1: a row could not be replaced   |
/// | mig-power-brake     | 2 x H200      | NV18   | mig, and GPU 1: power brake (0x88)            |
/// | mig-one-link-down   | 2 x H200      | NV17   | mig-one, and link 0 of each is down           |
/// | mig-p2p-refused     | 3 x H200      | NV18   | GPU 2 is split by MIG, P2P is refused of all  |
/// | clock-limits        | 2 x H200      | NV18   | GPU 1: application clock 1410 MHz             |
/// | link-errors         | 2 x H200      | NV18   | 3 replays, 1 recovery, 5 CRC errors           |
/// | link-errors-3090    | 2 x RTX 3090  | NV4    | the same, counted link by link                |
/// | p2p-reasons         | 2 x H200      | ?      | another reason for each: status 2, 3, 4, 42   |
/// | every-level         | 8 x L4        | PIX... | GPU 0 and n: the n-th level of NVML's list,   |
/// |                     |               |        | 60 (no level) for 7                           |
/// | no-fields           | 2 x H200      | NV18   | every field "Not Supported"                   |
/// | failing-fields      | 2 x H200      | NV18   | nvmlDeviceGetFieldValues fails (999)          |
/// | some-fields         | 2 x H200      | NV18   | 139 and 198 "Not Supported", the others work  |
/// | no-driver           | -             | -      | nvmlInit_v2 fails (9)                         |
/// | no-permission       | -             | -      | the same (4)                                  |
/// | blocked             | -             | -      | the same (17)                                 |
/// | driver-mismatch     | -             | -      | the same (18)                                 |
///
/// All but H200's are hand-made from NVIDIA's data sheets. GPU n of every scenario has the UUID
/// GPU-00000000-0000-0000-0000-00000000000n; with m = 6 + n in hexadecimal the PCI id of an H200 is
/// 00000000:00:0m.0, of every other 00000000:0m:00.0. GPU 1 is busy (47 C, 1980 MHz, event
/// 0x4, an H200 at 612.345 W), every other idle (45 C, 345 MHz, event 0x1, an H200 at 81.974 W),
/// where a fault says nothing else; none draws more than the limit in force, but GPU 1 of
/// draws-too-much. The PCIe links have 16 lanes.
///
/// Counters: reading k (from 1) of a GPU's counter after nvmlInit_v2 is its start + (k - 1) steps.
/// The step is LINKGAIN_NVML_COUNTER_STEP bytes for NVLink sent and received over all links (a
/// single link's is that divided by the number of links), LINKGAIN_NVML_PCIE_STEP bytes for PCIe,
/// 0 where not set. Every field counts its own readings. A line "GPU BYTES" of the file that
/// LINKGAIN_NVML_TRAFFIC names, read anew at every reading, adds to both of NVLink's: a program
/// under test says with it what it moved.
///
/// Errors: a line "GPU LINK COUNTER COUNT" of the file that LINKGAIN_NVML_ERRORS names, read anew
/// at every reading, adds to a counter: `0 3 crc_errors 12`. Counters are replays, recoveries and
/// crc_errors, of PCIe pcie_replays with any link. A link of which it has the counter down is down,
/// and the state of one with unreadable cannot be read (999): `0 3 down 1`.
///
/// Use: the file that LINKGAIN_NVML_USE names is read anew at every question, so that a test can
/// change it meanwhile. A line is a GPU's number, its utilization in percent and its processes as
/// pid:MiB:name, where MiB may be ? and the name too: `0 97 4711:10240:/usr/bin/python3`. GPUs
/// without a line are at 0 % and have no processes, and so are all where there is no such file.
///
/// As NVIDIA's library does, it starts a thread at the first nvmlInit_v2, which has the signal mask
/// of its creator, may be handed any signal sent to the process, and outlives nvmlShutdown. Where
/// LINKGAIN_NVML_GATE names a pipe, it then waits until somebody has written there.
namespace linkgain::nvml_double {

using nvml_api::ComputeMode;
using nvml_api::kBlockedBySystem;
using nvml_api::kDriverNotLoaded;
using nvml_api::kGpuIsLost;
using nvml_api::kInsufficientSize;
using nvml_api::kNoPermission;
using nvml_api::kNotSupported;
using nvml_api::kSuccess;
using nvml_api::kVersionMismatch;
using nvml_api::P2pStatus;
using nvml_api::Result;

inline constexpr Result kUninitialized = 1;
inline constexpr Result kInvalidArgument = 2;
inline constexpr Result kNotFound = 6;
inline constexpr Result kUnknown = nvml_api::kUnknownError;

inline constexpr int kMostGpus = 8;
inline constexpr int kAll = -1;  ///< every link, in Scenario::link_down
inline constexpr int kNone = -2;

/// What the GPUs are; the same for all of a scenario.
struct Model {
  const char* name = "NVIDIA H200";
  unsigned long long memory = 150754820096ULL;
  int architecture = 90;
  int links = 18;  ///< 0: the GPU has no NVLink and says that it does not support the calls
  unsigned int nvlink_version = 6;
  unsigned int nvlink_speed = 26562;  ///< MB/s, fractions cut off as the driver does
  bool nvswitch = true;
  unsigned int pcie_generation = 5;
  unsigned int idle_power = 81974;
  unsigned int busy_power = 612345;  ///< where the limit in force allows it
  unsigned int power_limit = 700000;
  unsigned int least_power_limit = 200000;
  unsigned int slowdown_temperature = 89;
  unsigned int most_clock = 1980;               ///< of graphics and SMs, MHz
  unsigned int application_clock = 1980;        ///< 0: not supported
  unsigned int most_custom_boost_clock = 1980;  ///< 0: the driver answers 0
  bool remaps_rows = true;
  unsigned int bridged_of_six = 6;  ///< links of each six that lead somewhere
};

/// What differs for one GPU. Values of 0 are those of a GPU in order.
struct Fault {
  int gpu = kNone;
  bool lost = false;
  bool no_handle = false;
  unsigned int temperature = 0;
  unsigned int power = 0;
  unsigned int power_limit = 0;
  unsigned int application_clock = 0;
  unsigned long long reasons = 0;
  unsigned int pcie_generation = 0;
  unsigned int pcie_width = 0;
  bool remap_pending = false;
  bool remap_failed = false;
  bool mig = false;
};

/// Which fields the driver lacks.
enum class Fields { all, none, failing, some, old, zero_links };

struct Scenario {
  std::string_view name;
  Model model{};
  int gpus = 2;
  Result init = kSuccess;
  Fields fields = Fields::all;
  int link_down = kNone;        ///< the number of the link that is not active
  int link_unreadable = kNone;  ///< the number of the link whose state cannot be read
  int link_slow = kNone;        ///< the number of the link at half the speed
  unsigned int link_errors = 0;
  P2pStatus p2p_read = P2pStatus::ok;
  P2pStatus p2p_write = P2pStatus::ok;
  P2pStatus p2p_nvlink = P2pStatus::ok;
  P2pStatus p2p_atomics = P2pStatus::ok;
  Result p2p_result = kSuccess;
  bool every_level = false;
  ComputeMode mode = ComputeMode::shared;
  bool persistence = true;
  std::array<Fault, 2> faults{};
};

/// Returns null if there is none of this name.
const Scenario* find_scenario(std::string_view name);

using nvml_api::Handle;

/// What a handle points at.
struct Gpu {
  int index = 0;
  Fault fault;  ///< the scenario's, if it is this GPU's
  /// Readings so far, by field.
  std::map<unsigned int, unsigned long long> readings;

  bool busy() const { return index == 1; }
};

/// The machine that the double stands for, from nvmlInit_v2 to nvmlShutdown.
struct Machine {
  const Scenario* scenario = nullptr;
  std::array<Gpu, kMostGpus> gpus;

  bool has(const Gpu& gpu) const { return gpu.index < scenario->gpus; }
};

Machine& machine();

/// Finds the GPU of a handle; what NVML answers where it is none of this machine, or lost.
Result find(Handle device, Gpu*& gpu);
/// Finds the GPU likewise, and answers whether it has this link.
Result find_link(Handle device, unsigned int link, Gpu*& gpu);

/// Returns what LINKGAIN_NVML_ERRORS adds to a counter of one link, or of kAllLinks.
unsigned long long added(const Gpu& gpu, unsigned int link, std::string_view counter);
bool link_active(const Gpu& gpu, unsigned int link);
/// Returns the bytes that LINKGAIN_NVML_TRAFFIC has of a GPU.
unsigned long long traffic_of(const Gpu& gpu);
/// Answers Hopper's fields of errors; GPUs before it count per link by a function.
Result answer_error_field(const Gpu& gpu, nvml_api::FieldValue& out);
Result set(nvml_api::FieldValue& out, nvml_api::ValueType type, unsigned long long value);
const char* uuid_of(const Gpu& gpu);
/// Fills in NVML's PCI structure of a GPU.
nvml_api::PciInfo pci_info_of(const Gpu& gpu);
Result copy_text(const char* text, char* out, unsigned int length);

/// Answers what a function of the GPU returns, through `out`.
template <typename T, typename Function>
Result answer(Handle device, T* out, const Function& function) {
  Gpu* gpu = nullptr;
  const Result result = find(device, gpu);
  if (result == kSuccess) {
    *out = function(*gpu);
  }
  return result;
}

/// Answers likewise for a link that is up; one that is down tells nothing of its other end.
template <typename T, typename Function>
Result answer_link(Handle device, unsigned int link, T* out, const Function& function) {
  Gpu* gpu = nullptr;
  const Result result = find_link(device, link, gpu);
  if (result != kSuccess) {
    return result;
  }
  if (!link_active(*gpu, link)) {
    return kNotSupported;
  }
  *out = function(*gpu);
  return kSuccess;
}

}  // namespace linkgain::nvml_double
