#pragma once

#include <array>
#include <string_view>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/hardware/neighbours.hpp"

/// What the checks of `linkgain doctor` find: a row each, in the order of the checks.
namespace linkgain::fault {

using enum CheckVerdict;

inline constexpr Fault driver_unusable{
    "gpu-driver", problem, "NVIDIA GPUs are on PCIe, but none is usable", "nothing can run on them",
    "install or load the driver (nvidia-smi must list them), after an update restart the "
    "machine; in a container, start it with --gpus all"};
inline constexpr Fault gpus_unknown{
    "gpus-present", warning, "the driver knows fewer GPUs than there are on PCIe",
    "the others failed to start, serve a virtual machine, or are kept from this container",
    "look for \"NVRM\" in the kernel log; in a container, start it with --gpus all"};
inline constexpr Fault gpu_lost{
    "gpu-responds", problem, "the driver cannot reach the GPU",
    "the GPU fell off the bus: its work is lost, and jobs over all GPUs hang",
    "restart the machine; if it comes again, check its power cables, its seat in the slot "
    "or riser, and its cooling"};
inline constexpr Fault rows_broken{
    "memory-rows", problem, "broken rows wait to be replaced, or cannot be",
    "further errors in them end programs or spoil data",
    "stop all work and reset the GPU (nvidia-smi --gpu-reset); if this stays, have the GPU "
    "replaced"};
inline constexpr Fault mode_exclusive{
    "compute-mode", warning, "the mode is exclusive",
    "two jobs cannot hold the GPU at once: linkgain runs its variants one after the other, "
    "and drift no longer cancels out",
    "nvidia-smi -i {gpu} -c DEFAULT"};
inline constexpr Fault mode_prohibited{"compute-mode", problem, "the mode is prohibited",
                                       "no program may use the GPU",
                                       "nvidia-smi -i {gpu} -c DEFAULT"};
inline constexpr Fault persistence_off{
    "persistence", warning, "it is off",
    "the driver unloads between programs: each start takes seconds longer, and limits that "
    "were set are forgotten",
    "run nvidia-persistenced, or nvidia-smi -pm 1"};
inline constexpr Fault gpu_busy{
    "neighbours", warning, "the GPU is 10 % busy or more",
    "others' work makes operations take longer, so that times, ratios and intervals are not"
    " those of the link",
    kNeighbourAdvice};
inline constexpr Fault gpu_held{
    "neighbours", warning, "a process holds memory of it",
    "another process holds memory and may work at any time: `linkgain run "
    "--require-healthy` ends with 8",
    kNeighbourAdvice};
inline constexpr Fault load_failed{
    "load", not_checkable, "--load could not put the GPUs to work", {}, "linkgain-bench --load 5"};
inline constexpr Fault none_visible{"cuda-visible", problem, "CUDA_VISIBLE_DEVICES hides all",
                                    "CUDA sees no GPU", "unset CUDA_VISIBLE_DEVICES or correct it"};
inline constexpr Fault one_visible{"cuda-visible", warning, "CUDA sees one",
                                   "a link has two ends: nothing can be measured with one GPU",
                                   "{add}"};
inline constexpr Fault some_hidden{
    "cuda-visible", warning, "CUDA_VISIBLE_DEVICES hides some",
    "the others are left out of every run; an unknown entry hides all that come after it",
    "unset CUDA_VISIBLE_DEVICES unless it is meant"};
inline constexpr Fault order_differs{
    "cuda-order", warning, "CUDA and nvidia-smi number the GPUs differently",
    "--gpus and CUDA_VISIBLE_DEVICES may name others than you think, such as a pair without"
    " a bridge",
    "set CUDA_DEVICE_ORDER=PCI_BUS_ID, and list CUDA_VISIBLE_DEVICES in ascending order"};
inline constexpr Fault xid_application{"xid", warning, "of a program",
                                       "most often a program's own fault, seldom the GPU's",
                                       "{advice}"};
inline constexpr Fault xid_degraded{"xid", warning, "that work survives",
                                    "the device reported a fault and went on", "{advice}"};
inline constexpr Fault xid_broken{"xid", problem, "that work does not survive",
                                  "the device reported a fault that work does not survive",
                                  "{advice}"};
inline constexpr Fault xid_unreadable{
    "xid", not_checkable, "reading the log needs root", {}, "dmesg | grep -i xid (as root)"};
inline constexpr Fault limit_lowered{
    "power-limit", warning, "the limit is below the GPU's default",
    "the GPU clocks down under heavy work to stay below it",
    "unless it is meant: nvidia-smi -i {gpu} -pl {watts} (as root)"};
inline constexpr std::string_view kCables =
    "give each 8-pin socket of the card a cable of its own (150 W each, not two plugs of "
    "one cable); seat 12-pin plugs fully; see that the power supply has watts to spare";
inline constexpr Fault power_brake{
    "power-brake", problem, "the power brake slows the GPU down",
    "the power supply or the machine tells the GPU to halve its clocks or worse", kCables};
inline constexpr Fault current_slowdown{
    "power-brake", problem, "the hardware slows it down, and not for its heat",
    "the GPU draws more current than it is given, or is too hot: its clocks are halved or "
    "worse",
    kCables};
inline constexpr Fault limit_exceeded{
    "power-cap", warning, "the GPU draws far more than its limit",
    "the GPU does not keep its power limit: cables and supply carry more than they were "
    "chosen for, or what the GPU says is wrong",
    "see whether it stays (nvidia-smi -i {gpu} -q -d POWER); if it does, look at cables and"
    " supply, and update the driver"};
inline constexpr Fault capped_idle{
    "power-cap", warning, "the limit is reached while idle; under heavy work that is expected",
    "an idle GPU should be far below its limit", "look at its power limit and its cables"};
inline constexpr std::string_view kCooling =
    "clean fans and filters, leave space between the cards, give the case or rack more air,"
    " lower the room's temperature or the power limit";
inline constexpr Fault too_hot{
    "temperature", problem, "the GPU is where it slows down",
    "the GPU slows down so as not to burn, and stops when that is not enough", kCooling};
inline constexpr Fault hot_and_throttling{
    "temperature", warning, "84 °C or more, or 5 °C below that point",
    "GPUs begin to slow down at 84 to 90 °C, and wear faster", kCooling};
inline constexpr Fault hot{
    "temperature", warning, "80 °C or more",
    "80 °C and more is hot: little is left before the GPU slows down at 84 to 90 °C, and it"
    " wears faster",
    kCooling};
inline constexpr Fault thermal_slowdown{
    "thermal-slowdown", problem, "the hardware or the driver slows the GPU down for its heat",
    "the GPU lowers its clocks because it is too hot", kCooling};
inline constexpr std::string_view kSwitch =
    "look at nvidia-fabricmanager's log and at the kernel log (Xid, SXid); restart the "
    "machine; if it stays, have the baseboard looked at";
inline constexpr Fault links_off_switch{
    "nvlink-links", problem, "none is active, while other GPUs reach the switch",
    "other GPUs of this machine reach the switch, this one does not", kSwitch};
inline constexpr Fault links_lead_nowhere{
    "nvlink-links", warning, "none is active, and no other GPU could be joined",
    "the GPU has NVLink, and nothing is at the other end of its links",
    "if a bridge was fitted, reseat it; no other GPU of this model has its links free, so "
    "there may be none to connect"};
inline constexpr Fault bridge_unseen{
    "nvlink-links", warning, "none is active: no bridge is seen",
    "a bridge could connect GPUs of this model; without one their data takes PCIe",
    "is a bridge fitted, made for this GPU generation and for this distance of slots? "
    "Switch off and reseat it until both ends click. See nvidia-smi nvlink --status, and "
    "whether /etc/modprobe.d sets NVreg_NvLinkDisable=1. If no bridge is meant to be there,"
    " this is how the machine is"};
inline constexpr std::string_view kDown =
    "links that are down carry nothing: the bandwidth is lower by their share";
inline constexpr Fault links_down_switch{"nvlink-links", problem,
                                         "some that lead to a switch are down", kDown, kSwitch};
inline constexpr std::string_view kBridge =
    "switch off, reseat the bridge until both ends click, clean its contacts; then look at "
    "nvidia-smi nvlink --status";
inline constexpr Fault links_down_bridge{"nvlink-links", problem, "some of a bridge are down",
                                         kDown, kBridge};
inline constexpr Fault links_fewer{
    "nvlink-links", warning, "some are down where several bridges would fit",
    "links that are down carry nothing: the bandwidth is lower by their share, unless this "
    "machine was built with fewer bridges than would fit",
    "count the bridges; where all are fitted: switch off, reseat the bridge until both ends"
    " click, clean its contacts; then look at nvidia-smi nvlink --status"};
inline constexpr std::string_view kSlow =
    "a link that trained at a lower rate carries less, and what is distributed evenly over "
    "all links waits for it";
inline constexpr Fault switch_link_slow{"nvlink-rate", warning,
                                        "one that leads to a switch is slower", kSlow, kSwitch};
inline constexpr Fault bridge_link_slow{"nvlink-rate", warning, "one of a bridge is slower", kSlow,
                                        kBridge};
inline constexpr Fault link_errors{
    "nvlink-errors", warning, "some were counted since the driver was loaded",
    "the link repeats what arrived broken, which costs bandwidth, and trains anew after "
    "many",
    "see whether the numbers grow during a run; if they do, reseat the bridge (with a switch: look "
    "at nvidia-fabricmanager's log), then have it or the GPU replaced"};
inline constexpr Fault peer_elsewhere{
    "nvlink-peers", warning, "links lead to a GPU that is not here",
    "containers or virtual machines have the two GPUs of a pair: neither can use the links",
    "give both GPUs to one container (--gpus '\"device=0,1\"')"};
inline constexpr Fault p2p_split{
    "p2p", warning, "MIG is on",
    "instances of a GPU reach no other GPU's memory, neither over NVLink nor over PCIe",
    "unless it is meant, turn MIG off as root: nvidia-smi -i N -mig 0"};
inline constexpr std::string_view kIdleLinks =
    "NVLink joins the GPUs and yet the driver refuses reads, writes or both: messages go through "
    "host memory, and the links lie idle";
inline constexpr Fault p2p_refused_switch{
    "p2p", problem, "the driver refuses it over NVLink and a switch", kIdleLinks,
    "start nvidia-fabricmanager in the driver's own version and look at its log"};
inline constexpr Fault p2p_refused_bridge{
    "p2p", problem, "the driver refuses it over a bridge", kIdleLinks,
    "the bridge may be bad, not fully seated, or of another generation: reseat it, then try "
    "another; "
    "see whether /etc/modprobe.d forbids P2P, and update the driver"};
inline constexpr Fault p2p_refused_machine{
    "p2p", problem, "the driver refuses it over a bridge and blames chipset or topology",
    kIdleLinks,
    "the links are up: the bridge may be in order. Update the board's firmware and the driver, "
    "turn "
    "the IOMMU off, and try two slots of one CPU; in a virtual machine its host decides. If the "
    "reason stays, reseat the bridge or try another"};
inline constexpr std::string_view kNoPath =
    "without NVLink and without P2P all messages go through host memory; the p2p and host "
    "variants then take the same path";
inline constexpr Fault p2p_refused_pcie{
    "p2p", warning, "there is neither NVLink nor P2P", kNoPath,
    "an NVLink bridge is what helps; PCIe P2P needs GPUs and a chipset that support it"};
inline constexpr Fault p2p_refused_bridgeless{
    "p2p", warning, "there is no P2P, and the GPUs have no NVLink", kNoPath,
    "no bridge fits these GPUs; PCIe P2P needs GPUs and a chipset that support it"};
inline constexpr Fault p2p_refused_unknown{
    "p2p", warning, "it is refused, and it is not known whether NVLink joins the GPUs",
    "without P2P all messages go through host memory; the p2p and host variants then take "
    "the same path",
    "where there is a bridge or a switch, see nvidia-smi nvlink --status and reseat the "
    "bridge; PCIe P2P needs GPUs and a chipset that support it"};
inline constexpr std::string_view kCauses =
    "until it is fixed set NCCL_P2P_DISABLE=1. IOMMU: start the kernel with iommu=pt or "
    "turn it off in the firmware (dmesg | grep -i -e dmar -e iommu). ACS: turn it off on "
    "the bridges (lspci -vvv | grep ACSCtl shows + where it is on). BAR size: without "
    "NVLink BAR1 must hold all of the GPU's memory (nvidia-smi -q -d MEMORY; Resizable BAR "
    "in the firmware). Driver: remove patches that grant P2P (modinfo nvidia), install "
    "NVIDIA's own. With NVLink: reseat the bridge, or look at nvidia-fabricmanager's log. "
    "After each run linkgain doctor --prove again";
inline constexpr Fault p2p_patched{
    "p2p", warning, "it is granted over PCIe between GeForce RTX",
    "NVIDIA's own driver refuses P2P over PCIe between GeForce RTX: this one is patched, and may "
    "grant what does not deliver",
    "linkgain doctor --prove shows whether data arrive"};
inline constexpr std::string_view kLeft =
    "messages go through host memory, though the GPUs could reach each other's";
inline constexpr Fault p2p_forbidden{"nccl-path", warning,
                                     "the driver grants P2P, and a variable forbids it", kLeft,
                                     "{removal} unless it is meant"};
inline constexpr Fault p2p_left{
    "nccl-path", warning, "the driver grants P2P, and NCCL does not take it", kLeft,
    "see whether P2P delivers (linkgain doctor --prove) and whether it is faster (linkgain run "
    "--variant host --variant p2p-sys); where it is, set NCCL_P2P_LEVEL=SYS"};
inline constexpr Fault delivery_hangs{
    "p2p-delivery", problem, "it hangs",
    "the driver grants P2P, and whoever waits for data on this path waits for ever: "
    "training and inference stand still",
    kCauses};
inline constexpr Fault delivery_fails{
    "p2p-delivery", problem, "it is granted but does not deliver",
    "the driver grants P2P, and programs that rely on it end with an error or compute with "
    "wrong data",
    kCauses};
inline constexpr Fault delivery_staged{
    "p2p-delivery", warning, "it goes through the host's memory",
    "the driver grants P2P and data arrive, but not from GPU to GPU: programs that count on it are "
    "slower than without",
    "set NCCL_P2P_DISABLE=1 and measure both ways by linkgain run; a driver that was patched to "
    "grant "
    "P2P, or a board without peer traffic between its slots, does this"};
inline constexpr Fault delivery_interrupted{
    "p2p-delivery", warning, "an earlier proof did not end",
    "a step that takes the machine down with it shows a fault that no program can report",
    "if nobody restarted it: look at the power supply, the risers and the kernel log of the boot "
    "before "
    "(journalctl -k -b -1), then prove again without --for. The note goes when a proof ends"};
inline constexpr Fault delivery_unused{
    "p2p-delivery", warning, "NCCL does not use it",
    "what goes from GPU to GPU without NCCL arrives; NCCL itself was not seen to use P2P, "
    "so that nothing is proved of it",
    "see the findings nccl-variable and nccl-conf, and NCCL_DEBUG=INFO"};
inline constexpr Fault delivery_failed{
    "p2p-delivery", warning, "a step could not run",
    "the step ended before it could see whether data arrive, which says nothing of the path",
    "fix what stops the step, then run linkgain doctor --prove again"};
inline constexpr Fault delivery_disputed{
    "p2p-delivery", warning, "NCCL's own diagnosis of it is not OK",
    "linkgain's steps passed and NCCL's check did not, or NCCL could not complete it: one of the "
    "two sees what the other does not",
    "run linkgain doctor --prove --for 5m; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=DIAG "
    "NCCL_RUN_DIAGNOSTICS=1 shows NCCL's check of each pair. Until both agree set "
    "NCCL_P2P_DISABLE=1"};
inline constexpr Fault control_fails{
    "p2p-delivery", warning, "it works, but NCCL without it fails",
    "P2P delivers, and what must do without it fails: variant host, and jobs with "
    "NCCL_P2P_DISABLE=1",
    "see the finding shared-memory"};
inline constexpr Fault delivery_inconclusive{
    "p2p-delivery", warning, "NCCL without P2P fails as well",
    "what fails without P2P as well is no evidence against P2P",
    "fix what stops NCCL without P2P, then run linkgain doctor --prove again"};
inline constexpr Fault copy_unmeasured{"nvlink-bandwidth",
                                       not_checkable,
                                       "the links' payload rate is not public",
                                       {},
                                       "linkgain doctor --load"};
inline constexpr Fault copy_slow{
    "nvlink-bandwidth", warning, "it is less than 70 % of the links' rate",
    "copies are slower than links of this rate allow: H200s reach 87 % of theirs",
    "see the other findings on links; repeat it while nothing else works on the GPUs"};
inline constexpr std::string_view kLanes =
    "every copy to and from host memory, and by PCIe P2P, takes {times} as long by the lanes alone";
inline constexpr std::string_view kSlot =
    "use a slot with all lanes (many boards give two cards half each: see the manual), "
    "reseat the card, change the riser";
inline constexpr Fault lanes_missing{"pcie-link", warning, "it has fewer than all its lanes",
                                     kLanes, kSlot};
inline constexpr Fault lanes_missing_at_work{
    "pcie-link", problem, "it has fewer than half of its lanes under --load", kLanes, kSlot};
inline constexpr std::string_view kHalves =
    "each generation less halves the rate to host memory and of PCIe P2P";
inline constexpr std::string_view kFirmware =
    "set the slot's generation in the firmware to automatic, reseat the card, change the "
    "riser";
inline constexpr Fault generation_low_at_work{
    "pcie-link", problem,
    "it has a lower generation under --load; an idle GPU trains its link down", kHalves, kFirmware};
inline constexpr std::string_view kShared =
    "what the GPU exchanges with host memory and with other GPUs passes the narrowest link, which "
    "other devices may share";
inline constexpr Fault path_narrow{
    "pcie-path", warning, "a link above the GPU's own carries less than that", kShared,
    "use a slot that the CPU's own lanes reach: the board's manual says which are the chipset's"};
inline constexpr Fault slot_narrow{
    "pcie-path", warning, "the slot has fewer lanes than the GPU", kLanes,
    "use a slot with all lanes, wired to the CPU: one of four lanes or fewer is mostly the "
    "chipset's"};
inline constexpr Fault bar1_small{
    "bar1", warning, "it is smaller than the memory, and a pair of GeForce RTX relies on PCIe P2P",
    "what grants P2P over PCIe to these GPUs maps all of their memory by BAR1: with less P2P may "
    "fail, or give wrong data",
    "turn on Resizable BAR and Above 4G Decoding in the firmware"};
inline constexpr Fault iommu_translates{
    "iommu", warning, "it translates addresses, and a pair relies on PCIe P2P",
    "PCIe P2P through a translating IOMMU is not supported on bare metal: it is slow, "
    "hangs, or spoils data",
    "turn the IOMMU off in the firmware, or start the kernel with iommu=pt"};
inline constexpr Fault acs_redirects{
    "pcie-acs", warning, "it is on, and a pair relies on PCIe P2P",
    "access control sends PCIe P2P up to the host bridge and back: it is slower than "
    "through the switch, and may hang",
    "turn ACS off in the firmware, or for each bridge: setpci -s BRIDGE ECAP_ACS+0x6.w=0000"
    " (as root, until the next start)"};
inline constexpr std::string_view kShm =
    "in a container: --shm-size=1g or --ipc=host; else mount -o remount,size=8G /dev/shm, "
    "or remove files that crashed programs left there (nccl-*)";
inline constexpr Fault shm_too_small{
    "shared-memory", problem, "it has too little room for NCCL to start",
    "NCCL needs {needed} for {ranks} ranks at the very least: its start fails (\"No space "
    "left on device\", \"unable to allocate shared memory\") or the program dies of a bus "
    "error",
    kShm};
inline constexpr Fault shm_small{
    "shared-memory", warning, "it has too little room for many channels",
    "{ranks} ranks with {channels} channels each need {needed} where messages go through "
    "host memory; 64 MiB is a container's default",
    kShm};
inline constexpr Fault lock_limited{
    "locked-memory", warning, "the limit is below 1 GiB, and there are RDMA adapters",
    "RDMA adapters must lock the memory they reach: NCCL and MPI fail to register theirs "
    "beyond this",
    "ulimit -l unlimited (limits.conf, or --ulimit memlock=-1 for a container)"};
inline constexpr std::string_view kCores =
    "give the job or container more processors (--cpus, --cpus-per-task), or start fewer "
    "ranks";
inline constexpr Fault cores_too_few{
    "cores", problem, "there are fewer than ranks",
    "each rank spins on a processor while it waits: ranks that share one disturb every "
    "sample",
    kCores};
inline constexpr Fault cores_few{
    "cores", warning, "there are fewer than two for each rank",
    "each rank has a second thread that moves data through host memory and the network; it "
    "may have to wait",
    kCores};
inline constexpr std::string_view kHidden =
    "the processes of others on the GPUs are hidden: a run knows them by their number and "
    "the GPUs' utilization alone";
inline constexpr Fault ids_contained{
    "process-ids", warning, "a container has ids of its own", kHidden,
    "docker run --pid=host, or run `linkgain doctor` outside the container"};
inline constexpr Fault ids_hidden{
    "process-ids", warning, "/proc is mounted with hidepid", kHidden,
    "mount -o remount,hidepid=0 /proc, or run `linkgain doctor` as root"};
inline constexpr Fault sysfs_missing{
    "sysfs", warning, "it shows no PCI devices",
    "NCCL reads from /sys which GPUs are near each other and may refuse P2P; links, ACS, "
    "IOMMU and NUMA nodes of PCIe are not checkable",
    "mount it: docker run does by itself; else -v /sys:/sys:ro, or mount -t sysfs sysfs "
    "/sys"};
inline constexpr Fault worker_without_nccl{
    "worker", warning, "it was built without NCCL, on a machine with GPUs",
    "it was built without NCCL: it cannot measure this machine's GPUs",
    "install CUDA and NCCL, then build again with cmake --preset cuda"};
inline constexpr Fault worker_silent{
    "worker", not_checkable, "it does not answer", {}, "linkgain-bench --describe"};
inline constexpr Fault mpirun_missing{
    "mpirun", problem, "it is not on PATH",
    "linkgain run starts ranks on several hosts, and those of --backend mpi, with it",
    "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH"};
inline constexpr Fault mpirun_foreign{
    "mpirun", problem, "it is not that of Open MPI",
    "linkgain run starts ranks on several hosts, and those of --backend mpi, with options of Open "
    "MPI's mpirun",
    "put the folder of Open MPI's mpirun first on PATH (module load openmpi)"};
inline constexpr Fault mpirun_differs{
    "mpirun", problem, "it is of another MPI or major version than linkgain-bench's library",
    "ranks that the launcher of another MPI starts do not find each other: each is alone, "
    "or MPI_Init fails",
    "put the folder of the mpirun of {library} first on PATH, or that of {mpirun}'s "
    "libmpi.so.40 first on LD_LIBRARY_PATH"};
inline constexpr Fault mpirun_fails{
    "mpirun", problem, "it ends with an error when it is asked for its version",
    "linkgain run starts ranks on several hosts, and those of --backend mpi, with it",
    "run mpirun --version and correct what it says (a library may be missing: ldd), or install "
    "Open MPI (apt-get install openmpi-bin)"};
inline constexpr Fault mpirun_host_name{
    "mpirun", problem, "the host's name is too long for Open MPI 4", "it {unfit}",
    "give the host a shorter name (hostname NAME as root, or docker run --hostname NAME)"};
inline constexpr Fault mpirun_silent{
    "mpirun", not_checkable, "it does not say its version", {}, "mpirun --version"};
inline constexpr std::string_view kCuda =
    "update the driver to one for CUDA {runtime} or later, or build with CUDA {driver}";
inline constexpr Fault driver_too_old{
    "cuda-driver", problem, "it is of an older major version than the CUDA runtime",
    "the driver is too old for the runtime: CUDA does not start", kCuda};
inline constexpr Fault driver_older{
    "cuda-driver", warning, "it is older within the same major version",
    "within one major version this works but for kernels that are compiled when they are "
    "loaded, and for newer functions",
    kCuda};
inline constexpr std::string_view kNccl =
    "install NCCL 2.19 or later (NVIDIA's package libnccl2, or pip's nvidia-nccl-cu12, "
    "nvidia-nccl-cu13), or name its file in LINKGAIN_NCCL";
inline constexpr Fault nccl_missing{"nccl-version", problem, "none could be opened", "{missing}",
                                    kNccl};
inline constexpr Fault nccl_differs{
    "nccl-version", problem, "its major version is not that of the header",
    "functions and structures differ between major versions", kNccl};
inline constexpr Fault nccl_bug{
    "nccl-known-bugs", warning, "it is 2.28.0 to 2.28.6",
    "its all-reduce on symmetric memory may give wrong sums for small messages",
    "update to NCCL 2.28.7 or later, or leave symmetric memory out"};
inline constexpr Fault variable_forbids{
    "nccl-variable", problem, "a variable of the environment or of nccl.conf forbids P2P",
    "no NCCL program of yours uses NVLink or PCIe P2P: all variants take the path through "
    "host memory",
    "{removal} unless it is meant"};
inline constexpr Fault variable_affects{
    "nccl-variable", warning, "a variable changes what NCCL does",
    "it {effect}, for every variant alike", "{removal} unless it is meant"};
inline constexpr Fault variable_misread{
    "nccl-variable", warning, "the value is none that NCCL knows, so that it changes nothing",
    "NCCL takes a number here, and this value leaves all as it is: what it was meant for is not in "
    "force",
    "{removal} unless it is meant; then write {name}=1"};
inline constexpr Fault log_of_calls{
    "nccl-variable", warning, "NCCL_DEBUG asks for a line for each call",
    "NCCL writes a line for each call, which makes small operations slower",
    "set NCCL_DEBUG=WARN, or NCCL_DEBUG_SUBSYS=INIT,ENV"};
inline constexpr Fault conf_fault{"nccl-conf", warning, "NCCL does not read a line as it seems",
                                  "NCCL does not do what the file seems to say",
                                  "correct the file, or the variable that names it"};
inline constexpr Fault cuda_affected{
    "cuda-variable", warning, "a variable changes what CUDA or cuBLAS does",
    "it {effect}, for every variant alike", "unset {variable} unless it is meant"};

template <typename... Faults>
constexpr std::array<const Fault*, sizeof...(Faults)> places_of(const Faults&... faults) {
  return {&faults...};
}

inline constexpr auto kAll = places_of(
    driver_unusable, gpus_unknown, gpu_lost, rows_broken, mode_exclusive, mode_prohibited,
    persistence_off, gpu_busy, gpu_held, load_failed, none_visible, one_visible, some_hidden,
    order_differs, xid_application, xid_degraded, xid_broken, xid_unreadable, limit_lowered,
    power_brake, current_slowdown, limit_exceeded, capped_idle, too_hot, hot_and_throttling, hot,
    thermal_slowdown, links_off_switch, links_lead_nowhere, bridge_unseen, links_down_switch,
    links_down_bridge, links_fewer, switch_link_slow, bridge_link_slow, link_errors, peer_elsewhere,
    p2p_split, p2p_refused_switch, p2p_refused_bridge, p2p_refused_machine, p2p_refused_pcie,
    p2p_refused_bridgeless, p2p_refused_unknown, p2p_patched, p2p_forbidden, p2p_left,
    delivery_hangs, delivery_fails, delivery_staged, delivery_interrupted, delivery_unused,
    delivery_failed, delivery_disputed, control_fails, delivery_inconclusive, copy_unmeasured,
    copy_slow, lanes_missing, lanes_missing_at_work, generation_low_at_work, path_narrow,
    slot_narrow, bar1_small, iommu_translates, acs_redirects, shm_too_small, shm_small,
    lock_limited, cores_too_few, cores_few, ids_contained, ids_hidden, sysfs_missing,
    worker_without_nccl, worker_silent, mpirun_missing, mpirun_foreign, mpirun_differs,
    mpirun_fails, mpirun_host_name, mpirun_silent, driver_too_old, driver_older, nccl_missing,
    nccl_differs, nccl_bug, variable_forbids, variable_affects, variable_misread, log_of_calls,
    conf_fault, cuda_affected);

}  // namespace linkgain::fault
