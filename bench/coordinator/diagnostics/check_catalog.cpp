#include "linkgain/diagnostics/check_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

using enum CheckGroup;
using enum CheckScope;

constexpr CheckEntry kCatalog[] = {
    {"gpu-driver", gpus, "problem: NVIDIA GPUs are on PCIe, but none is usable.",
     "Install or load the driver: nvidia-smi must list the GPUs. After an update restart the "
     "machine. Start a container with --gpus all."},
    {"gpus-present", gpus,
     "warning: the driver knows fewer GPUs than there are on PCIe. The others failed to start, "
     "serve a virtual machine, or are kept from this container.",
     "Look for NVRM in the kernel log."},
    {"gpu-responds", gpus,
     "problem: a GPU fell off the bus. Its work is lost, and jobs over all GPUs hang.",
     "Restart the machine. If it comes again, check the GPU's power cables, its seat in the slot "
     "or riser, and its cooling."},
    {"memory-rows", gpus,
     "problem: broken rows of memory wait to be replaced, or cannot be. Further errors in them "
     "end programs or spoil data.",
     "Stop all work and run nvidia-smi --gpu-reset. If it stays, have the GPU replaced."},
    {"compute-mode", gpus,
     "problem: the mode is prohibited, so no program may use the GPU. warning: the mode is "
     "exclusive, so variants run one after the other, and drift no longer cancels out.",
     "nvidia-smi -i N -c DEFAULT sets the default mode."},
    {"persistence", gpus,
     "warning: persistence mode is off. The driver unloads between programs, so each start takes "
     "seconds longer and limits that were set are forgotten.",
     "Run nvidia-persistenced, or nvidia-smi -pm 1."},
    {"neighbours", gpus,
     "warning: other processes use the GPU. If they keep it busy, times and intervals are not "
     "those of the link.",
     "End them, or wait."},
    {"load", gpus, "not checkable: --load could not put the GPUs to work.",
     "linkgain-bench --load 5 says why."},
    {"cuda-visible", gpus,
     "problem: CUDA_VISIBLE_DEVICES hides every GPU from CUDA. warning: it hides some, or leaves "
     "one, and a link has two ends. An unknown entry hides all that come after it.",
     "Unset the variable or correct it.", run},
    {"cuda-order", gpus,
     "warning: CUDA and nvidia-smi number the GPUs differently. --gpus may then name a pair "
     "without a bridge.",
     "Set CUDA_DEVICE_ORDER=PCI_BUS_ID, and list CUDA_VISIBLE_DEVICES in ascending order.", run},
    {"xid", gpus,
     "problem or warning: the kernel log has Xid errors, or SXid errors of an NVSwitch. The "
     "finding says what the code means and whether work survives it. Errors of before the driver "
     "was last loaded do not count. not checkable: reading the log needs root.",
     "dmesg | grep -i xid, as root."},
    {"power-limit", power,
     "warning: the power limit is below the GPU's default, so it clocks down under heavy work.",
     "Unless that is meant, set it as root with nvidia-smi -i N -pl WATTS."},
    {"power-brake", power,
     "problem: the power supply or the machine tells the GPU to halve its clocks or worse.",
     "Give each 8-pin socket a cable of its own (150 W each). Seat 12-pin plugs fully. See that "
     "the supply has watts to spare."},
    {"power-cap", power,
     "warning: an idle GPU is at its power limit, or a GPU draws far more than its limit. "
     "Reaching the limit under heavy work is expected.",
     "Look at limit, cables and supply."},
    {"temperature", cooling,
     "problem: the GPU is at the temperature where it slows down. warning: it has 80 °C or more, "
     "or is within 5 degrees of that temperature.",
     "Clean fans and filters, leave space between cards, and give the case more air."},
    {"thermal-slowdown", cooling, "problem: the GPU lowers its clocks because it is too hot.",
     "Clean fans and filters, leave space between cards, and give the case more air."},
    {"nvlink-links", connectivity,
     "problem: some links are down while others work, or this GPU does not reach the switch that "
     "others reach. warning: no link is active, or the machine may have been built with fewer "
     "bridges than would fit.",
     "Check that a bridge is fitted, made for this GPU generation and slot distance. Switch off "
     "and reseat it until both ends click. See nvidia-smi nvlink --status, and whether "
     "/etc/modprobe.d sets NVreg_NvLinkDisable=1. With a switch, see nvidia-fabricmanager's log."},
    {"nvlink-rate", connectivity,
     "warning: a link trained at a lower rate. What is distributed evenly over all links waits for "
     "it.",
     "Reseat the bridge; with a switch, see nvidia-fabricmanager's log."},
    {"nvlink-errors", connectivity,
     "warning: links counted CRC errors, replays or recoveries since the driver was loaded. A "
     "link repeats what arrived broken, which costs bandwidth.",
     "If the numbers grow during a run, reseat the bridge, or have it or the GPU replaced."},
    {"nvlink-peers", connectivity,
     "warning: links lead to a GPU that this container lacks, so that nothing can use them.",
     "Give both GPUs of a pair to one container."},
    {"p2p", connectivity,
     "problem: NVLink connects the GPUs, but the driver refuses reads or writes, so that data "
     "goes through host memory. warning: there is neither NVLink nor P2P, or MIG is on.",
     "Reseat or replace the bridge; with a switch start nvidia-fabricmanager in the driver's own "
     "version. Turn MIG off if it is not meant. PCIe P2P needs GPUs and a chipset that support "
     "it."},
    {"p2p-delivery", connectivity,
     "Whether data that one GPU sends another by P2P arrive, with --prove: stores, copy engine, "
     "flags, NCCL. problem: the driver grants P2P, but it does not deliver, or hangs. warning: "
     "NCCL without P2P fails as well, which is inconclusive; or NCCL did not use P2P.",
     "Set NCCL_P2P_DISABLE=1 until it is fixed. Look at IOMMU, ACS, BAR size and patched drivers, "
     "as the finding says; with NVLink at the bridge or at nvidia-fabricmanager."},
    {"nvlink-bandwidth", connectivity,
     "What a copy between two GPUs reaches over NVLink, with --load. It is the only figure where "
     "a generation's payload rate is not public. warning: less than 70 % of the links' rate.",
     "See the other findings on links. Repeat it while nothing else works on the GPUs."},
    {"pcie-link", connectivity,
     "problem: under --load the link has fewer than half its lanes, or a lower generation. "
     "warning: it has fewer lanes than the most possible. not checkable: an idle GPU trains its "
     "link down, so use --load.",
     "Use a slot with all lanes: many boards give two cards half each. Reseat the card or change "
     "the riser. Set the slot's generation in the firmware to automatic."},
    {"iommu", connectivity,
     "warning: the IOMMU translates addresses and a pair relies on PCIe P2P. On bare metal that "
     "is slow, hangs, or spoils data.",
     "Turn the IOMMU off in the firmware, or start the kernel with iommu=pt."},
    {"pcie-acs", connectivity,
     "warning: access control (ACS) on PCIe bridges sends P2P up to the host bridge and back. "
     "That is slower, and may hang.",
     "Turn ACS off in the firmware, or as root until the next start: "
     "setpci -s BRIDGE ECAP_ACS+0x6.w=0000"},
    {"shared-memory", host,
     "problem: /dev/shm has too little room for NCCL to start. warning: it has too little for "
     "many channels; a container has 64 MiB by default.",
     "Use --shm-size=1g or --ipc=host in a container, or mount -o remount,size=8G /dev/shm. Files "
     "that crashed programs left there (nccl-*) take room too."},
    {"locked-memory", host,
     "warning: RDMA adapters must lock the memory that they reach, and the limit is below 1 GiB.",
     "Set ulimit -l unlimited, or --ulimit memlock=-1 for a container.", run},
    {"cores", host,
     "problem: there are fewer processors than ranks, so that ranks disturb every sample. "
     "warning: there are fewer than two for each rank.",
     "Give the job more processors (--cpus, --cpus-per-task), or start fewer ranks.", run},
    {"process-ids", host, "warning: a container hides the processes that others have on the GPUs.",
     "Start it with --pid=host, or run linkgain doctor outside.", run},
    {"sysfs", host,
     "warning: /sys shows no PCI devices. NCCL may refuse P2P then, and PCIe is not checkable.",
     "Mount it: docker run does by itself; else -v /sys:/sys:ro."},
    {"worker", software,
     "warning: linkgain-bench was built without NCCL, on a machine with GPUs. not checkable: it "
     "did not answer.",
     "Install CUDA and NCCL, then build with cmake --preset cuda. Try linkgain-bench --describe.",
     run},
    {"mpirun", software,
     "problem: Open MPI's mpirun is missing, or it is of another MPI or major version than "
     "linkgain-bench's library. Ranks then do not find each other.",
     "Put the right one first on PATH, or build with the one that is there.", run},
    {"cuda-driver", software,
     "problem: the driver is too old for the CUDA runtime, so CUDA does not start. warning: it is "
     "older within the same major version.",
     "Update the driver, or build with the older CUDA.", run},
    {"nccl-version", software,
     "problem: no NCCL could be opened, or its major version is not that of the header.",
     "Install NCCL 2.19 or later, or name its file in LINKGAIN_NCCL.", run},
    {"nccl-known-bugs", software,
     "warning: NCCL 2.28.0 to 2.28.6 may give wrong sums for small all-reduces on symmetric "
     "memory.",
     "Update to 2.28.7 or later, or leave symmetric memory out.", run},
    {"nccl-variable", software,
     "problem: a variable in the environment or in nccl.conf forbids P2P, such as "
     "NCCL_P2P_DISABLE=1. No NCCL program then uses NVLink. warning: a variable changes what NCCL "
     "does for every variant.",
     "Unset it unless it is meant.", run},
    {"nccl-conf", software,
     "warning: a configuration file has a line that NCCL does not read as it seems.",
     "Correct the file, or the variable that names it.", run},
    {"cuda-variable", software,
     "warning: a variable changes what CUDA or cuBLAS does, for every variant alike.",
     "Unset it unless it is meant.", run},
};

}  // namespace

std::span<const CheckEntry> check_catalog() { return kCatalog; }

const CheckEntry& find_check(std::string_view id) {
  const auto* const found = std::ranges::find(kCatalog, id, &CheckEntry::id);
  if (found != std::end(kCatalog)) return *found;
  std::vector<std::string_view> ids;
  for (const CheckEntry& entry : kCatalog) ids.push_back(entry.id);
  throw UsageError(unknown_name("check", id, ids));
}

std::string explanation_of(const CheckEntry& check, std::size_t width) {
  width = std::min(width, kTerminalColumns);
  return fmt::format("{} ({})\n", check.id, name_of(check.group)) +
         hanging("  ", check.meaning, width) + hanging("  Do: ", check.fix, width);
}

}  // namespace linkgain
