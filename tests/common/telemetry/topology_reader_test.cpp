#include "linkgain/telemetry/topology_reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "linkgain/hardware/pci.hpp"
#include "support/fake_sys.hpp"
#include "support/nvml_scenario.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SurveyTopology : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("CUDA_VISIBLE_DEVICES"); }

  Topology survey(const std::string& scenario, const char* double_name = NVML_DOUBLE) const {
    const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", double_name);
    const ScopedEnvironment name("LINKGAIN_NVML_SCENARIO", scenario);
    return survey_topology(sys_.root(), sys_.root() / "proc");
  }

  FakeSys sys_;
};

std::vector<std::string> labels(const Topology& topology) {
  std::vector<std::string> all;
  for (const TopologyPair& pair : topology.pairs) all.push_back(label_of(pair));
  return all;
}

TEST_F(SurveyTopology, OfGpusOnASwitch) {
  sys_.add_device("pci0000:00/0000:00:06.0", -1, "0-31");
  const Topology topology = survey("h200x2");
  EXPECT_FALSE(topology.host.empty());
  EXPECT_EQ(topology.driver, Reading<std::string>("580.159.04"));
  EXPECT_EQ(topology.no_gpus, "");
  ASSERT_THAT(topology.gpus, SizeIs(2));
  const TopologyGpu& gpu = topology.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:00:06.0");
  EXPECT_EQ(gpu.cpus, Reading<std::string>("0-31"));
  EXPECT_EQ(gpu.numa_node, Reading<int>(0));
  EXPECT_EQ(gpu.nvlink.version, Reading<int>(6));
  EXPECT_EQ(gpu.nvlink.possible, Reading<int>(18));
  EXPECT_EQ(gpu.nvlink.active, Reading<int>(18));
  EXPECT_NEAR(gpu.nvlink.rate_gb_per_s.value(), 26.562, 0.001);
  EXPECT_EQ(gpu.nvlink.switched, Reading<bool>(true));
  EXPECT_EQ(gpu.pcie.generation, Reading<int>(5));
  EXPECT_EQ(gpu.pcie.most_width, Reading<int>(16));
  EXPECT_EQ(topology.gpus[1].index, 1);
  EXPECT_FALSE(topology.gpus[1].cpus.measured()) << "the kernel does not show it";
  EXPECT_THAT(labels(topology), ElementsAre("NV18", "NV18"));
  EXPECT_EQ(topology.pairs[0].read, Reading<P2pStatus>(P2pStatus{true, ""}));
}

/// Has a GPU behind the chipset, which four lanes join to the CPU.
TEST_F(SurveyTopology, ReadsTheLinksUpToTheRootPort) {
  const std::string port = "pci0000:00/0000:00:02.1";
  const std::string up = port + "/0000:02:00.0";
  const std::string gpu = up + "/0000:03:04.0/0000:00:06.0";
  sys_.add_device(gpu, 0, "0-15");
  sys_.add_link(port, "4", "4", "16.0 GT/s PCIe");
  sys_.add_link(up, "4", "4", "16.0 GT/s PCIe");
  sys_.add_link(gpu, "16", "16", "32.0 GT/s PCIe");
  sys_.write("devices/" + gpu + "/resource",
             "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
             "0x000000e000000000 0x000000efffffffff 0x000000000014220c");
  const TopologyGpu found = survey("h200x2").gpus[0];
  std::vector<std::string> ids;
  for (const PcieHop& hop : found.path) ids.push_back(hop.pci_bus_id);
  ASSERT_THAT(ids, ElementsAre("0000:00:06.0", "0000:03:04.0", "0000:02:00.0", "0000:00:02.1"));
  EXPECT_EQ(found.path[0].most_rate, Reading<double>(32.0));
  EXPECT_FALSE(found.path[1].width.measured()) << "the kernel does not say";
  EXPECT_EQ(found.path[2].width, Reading<int>(4));
  EXPECT_EQ(narrowest_above(found.path), &found.path[2]);
  EXPECT_EQ(found.bar1_bytes, Reading<std::int64_t>(std::int64_t{64} << 30));
  EXPECT_EQ(found.memory_bytes, Reading<std::int64_t>(150754820096));
  const TopologyGpu other = survey("h200x2").gpus[1];
  EXPECT_THAT(other.path, IsEmpty());
  EXPECT_FALSE(other.bar1_bytes.measured());
}

TEST_F(SurveyTopology, PassesOverWidthsThatTheKernelDoesNotKnow) {
  const std::string gpu = "pci0000:00/0000:00:06.0";
  sys_.add_device(gpu, 0, "0-15");
  sys_.add_link(gpu, "0", "255", "Unknown");
  sys_.write("devices/" + gpu + "/resource", "0x0 0x0 0x0\n0x0 0x0 0x0");
  const TopologyGpu found = survey("h200x2").gpus[0];
  ASSERT_THAT(found.path, SizeIs(1));
  EXPECT_FALSE(found.path[0].width.measured());
  EXPECT_FALSE(found.path[0].most_width.measured());
  EXPECT_FALSE(found.path[0].most_rate.measured());
  EXPECT_FALSE(found.bar1_bytes.measured());
}

TEST_F(SurveyTopology, SaysWhoseTheProcessorIsAndWhatIsUnderTheSystem) {
  EXPECT_EQ(survey("h200x2").hypervisor, std::nullopt);
  EXPECT_FALSE(survey("h200x2").has_amd_cpu);
  sys_.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor");
  EXPECT_TRUE(survey("h200x2").has_amd_cpu);
  EXPECT_EQ(survey("h200x2").hypervisor, "unknown hypervisor");
  sys_.write("class/dmi/id/sys_vendor", "Amazon EC2");
  EXPECT_EQ(survey("h200x2").hypervisor, "Amazon EC2");
  sys_.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisors");
  EXPECT_FALSE(survey("h200x2").has_amd_cpu);
  EXPECT_EQ(survey("h200x2").hypervisor, std::nullopt) << "a machine of its own";
  sys_.write("proc/cpuinfo", "processor\t: 0");
  sys_.write("class/dmi/id/sys_vendor", "QEMU");
  EXPECT_EQ(survey("h200x2").hypervisor, "QEMU") << "Arm has no flag for it";
}

TEST_F(SurveyTopology, OfFourAndEightGpus) {
  EXPECT_THAT(labels(survey("h200x4")), AllOf(SizeIs(12), Each("NV18")));
  EXPECT_THAT(labels(survey("h200x8")), AllOf(SizeIs(56), Each("NV18")));
}

TEST_F(SurveyTopology, OfBridgedPairs) {
  const Topology titan = survey("titan-rtx-nv2");
  EXPECT_THAT(labels(titan), ElementsAre("NV2", "NV2"));
  EXPECT_EQ(titan.gpus[0].nvlink.switched, Reading<bool>(false));
  EXPECT_EQ(titan.gpus[0].nvlink.possible, Reading<int>(2));
  const Topology ga102 = survey("rtx3090-nv4");
  EXPECT_THAT(labels(ga102), ElementsAre("NV4", "NV4"));
  EXPECT_NEAR(rate_of(ga102.gpus[1].nvlink).value(), 56.25, 0.01);
  EXPECT_THAT(ga102.gpus[0].nvlink.peers, ElementsAre(ga102.gpus[1].pci_bus_id));
  EXPECT_FALSE(payload_limit_of(ga102.gpus[1].nvlink).measured());
}

TEST_F(SurveyTopology, OfLinksThatAreDown) {
  const Topology one = survey("one-link-down");
  EXPECT_THAT(labels(one), ElementsAre("NV17", "NV17"));
  EXPECT_EQ(one.gpus[0].nvlink.active, Reading<int>(17));
  EXPECT_EQ(one.gpus[0].nvlink.possible, Reading<int>(18));
  const Topology all = survey("rtx3090-no-bridge");
  EXPECT_THAT(labels(all), ElementsAre("PHB", "PHB"));
  EXPECT_EQ(all.gpus[0].nvlink.active, Reading<int>(0));
  EXPECT_EQ(all.gpus[0].nvlink.possible, Reading<int>(4));
  EXPECT_FALSE(all.gpus[0].nvlink.switched.measured());
  EXPECT_FALSE(all.gpus[0].nvlink.rate_gb_per_s.measured());
}

TEST_F(SurveyTopology, OfGpusWithoutNvlink) {
  const Topology topology = survey("no-nvlink");
  EXPECT_THAT(labels(topology), ElementsAre("PHB", "PHB"));
  EXPECT_THAT(topology.gpus[0].nvlink.possible.reason(), HasSubstr("NVML error 3"));
  EXPECT_FALSE(topology.pairs[0].read.value().ok);
}

TEST_F(SurveyTopology, KeepsTheLinksOfAPairThatMayNotUseThem) {
  const Topology topology = survey("p2p-refused");
  EXPECT_THAT(labels(topology), ElementsAre("NV4", "NV4"));
  EXPECT_EQ(topology.pairs[0].read.value().why_not, "chipset not supported");
}

TEST_F(SurveyTopology, NamesEveryLevelAsTheDriverDoes) {
  const Topology topology = survey("every-level");
  std::vector<std::string> row;
  for (const TopologyPair& pair : topology.pairs) {
    if (pair.from == 0 && pair.ancestor.measured()) {
      row.emplace_back(name_of(pair.ancestor.value()));
    }
  }
  EXPECT_THAT(row, ElementsAre("PIX", "PIX", "PXB", "PHB", "NODE", "SYS"));
}

TEST_F(SurveyTopology, KeepsAGpuThatIsLost) {
  for (const char* scenario : {"lost-gpu", "lost-gpu-at-start"}) {
    const Topology topology = survey(scenario);
    ASSERT_THAT(topology.gpus, SizeIs(2));
    EXPECT_EQ(topology.gpus[0].name, "NVIDIA H200");
    EXPECT_EQ(topology.gpus[0].nvlink.active, Reading<int>(18));
    EXPECT_EQ(topology.gpus[0].no_answer, "");
    EXPECT_FALSE(topology.gpus[0].cuda_index.measured());
    EXPECT_THAT(topology.gpus[1].no_answer, HasSubstr("NVML error 15"));
    EXPECT_EQ(topology.gpus[1].cuda_index.reason(), topology.gpus[1].no_answer);
    EXPECT_EQ(topology.gpus[1].nvlink.active.reason(), topology.gpus[1].no_answer);
    EXPECT_THAT(labels(topology), ElementsAre("?", "?"));
    EXPECT_EQ(topology.pairs[0].read.reason(), topology.gpus[1].no_answer);
  }
}

/// Reports a lost GPU as lost under a driver that is too old to tell PCI ids.
TEST_F(SurveyTopology, OfAnOldDriverKeepsAGpuThatIsLost) {
  const Topology topology = survey("lost-gpu", NVML_DOUBLE_OLD);
  EXPECT_EQ(topology.gpus[0].no_answer, "");
  EXPECT_THAT(topology.gpus[1].no_answer, HasSubstr("NVML error 15"));
}

TEST_F(SurveyTopology, OfAnOldDriverSaysWhatItDoesNotTell) {
  const Topology topology = survey("h200x2", NVML_DOUBLE_OLD);
  for (const TopologyGpu& gpu : topology.gpus) {
    EXPECT_EQ(gpu.no_answer, "");
    EXPECT_FALSE(gpu.cuda_index.measured());
  }
}

TEST_F(SurveyTopology, OfADriverThatTellsNothingIsNotOfGpusThatDoNotAnswer) {
  const Topology topology = survey("", NVML_DOUBLE_MINIMAL);
  ASSERT_THAT(topology.gpus, SizeIs(2));
  for (const TopologyGpu& gpu : topology.gpus) {
    EXPECT_EQ(gpu.no_answer, "");
    EXPECT_EQ(gpu.name, "");
    EXPECT_THAT(gpu.pcie.width.reason(), HasSubstr("nvmlDeviceGetCurrPcieLinkWidth"));
  }
}

TEST_F(SurveyTopology, OfRatesThatCannotBeReadSaysWhy) {
  EXPECT_THAT(survey("no-fields").gpus[0].nvlink.rate_gb_per_s.reason(),
              HasSubstr("NVML error 3)"));
  EXPECT_THAT(survey("failing-fields").gpus[0].nvlink.rate_gb_per_s.reason(),
              HasSubstr("NVML error 999)"));
}

TEST_F(SurveyTopology, SaysWhatIsNotKnown) {
  Situations answers;
  answers.add("CPUs of a GPU that the kernel does not show",
              survey("h200x2").gpus[0].cpus.reason());
  const NvlinkInfo down = survey("rtx3090-no-bridge").gpus[0].nvlink;
  answers.add("what links that are down lead to", down.switched.reason());
  answers.add("their rate", down.rate_gb_per_s.reason());
  answers.add("CUDA's index beside a lost GPU", survey("lost-gpu").gpus[0].cuda_index.reason());
  answers.add("CUDA's index of an old driver's GPU",
              survey("h200x2", NVML_DOUBLE_OLD).gpus[0].cuda_index.reason());
  answers.add("a driver that does not start", survey("no-driver").no_gpus);
  answers.expect_golden("survey_missing.txt");
}

TEST_F(SurveyTopology, SaysWhyThereAreNoGpus) {
  const Topology no_driver = survey("no-driver");
  EXPECT_THAT(no_driver.gpus, IsEmpty());
  EXPECT_NE(no_driver.no_gpus, "");
  EXPECT_EQ(no_driver.driver.reason(), no_driver.no_gpus);
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", "/nowhere/libnvidia-ml.so");
  EXPECT_THAT(survey_topology(sys_.root(), sys_.root() / "proc").no_gpus,
              HasSubstr("/nowhere/libnvidia-ml.so"));
}

/// Says "0-1: 18 joined" of each pair, "0-1: ? unknown" where nothing is known of it.
std::vector<std::string> joined(const std::vector<PairLink>& links) {
  std::vector<std::string> all;
  for (const PairLink& link : links) {
    const std::optional<bool> known = joined_by_nvlink(link);
    all.push_back(fmt::format("{}-{}: {} {}", link.from, link.to,
                              link.nvlinks ? std::to_string(*link.nvlinks) : "?",
                              known ? (*known ? "joined" : "apart") : "unknown"));
  }
  return all;
}

TEST_F(SurveyTopology, KnowsOfPairsWhatARunKnows) {
  for (const char* const scenario : {"h200x2",
                                     "h200x8",
                                     "h100-nvl",
                                     "titan-rtx-nv2",
                                     "titan-rtx-phb",
                                     "rtx3090-nv4",
                                     "rtx3090-no-bridge",
                                     "rtx4090-p2p",
                                     "no-nvlink",
                                     "nvlink-count-0",
                                     "one-link-down",
                                     "one-link-unreadable",
                                     "p2p-refused",
                                     "p2p-unknown",
                                     "p2p-error",
                                     "lost-gpu",
                                     "lost-gpu-at-start",
                                     "mig-one",
                                     "mig-lost-gpu",
                                     "mig-one-lost-gpu",
                                     "no-fields"}) {
    SCOPED_TRACE(scenario);
    const NvmlScenario nvml(scenario, NVML_DOUBLE);
    std::vector<std::optional<Nvml::Device>> devices;
    for (int i = 0; i < nvml.nvml()->device_count(); ++i) {
      devices.push_back(nvml.nvml()->device_by_index(i));
    }
    EXPECT_EQ(joined(links_between(devices)), joined(machine_of(survey(scenario)).links));
  }
}

TEST_F(SurveyTopology, FollowsCudaVisibleDevices) {
  const ScopedEnvironment list("CUDA_VISIBLE_DEVICES", "1,0");
  const Topology topology = survey("h200x2");
  EXPECT_EQ(topology.gpus[0].cuda_index, Reading<int>(1));
  EXPECT_EQ(topology.gpus[1].cuda_index, Reading<int>(0));
  EXPECT_EQ(topology.gpus[0].pci_bus_id, "00000000:00:06.0") << "NVML's order is not changed";
}

TEST_F(SurveyTopology, FindsNicsAndTheirPaths) {
  const std::string top = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  sys_.write("devices/system/node/online", "0-1");
  sys_.add_device(top + "0000:02:00.0/0000:06:00.0", 0, "0-15");        // GPU0
  sys_.add_device("pci0000:80/0000:80:01.0/0000:07:00.0", 1, "16-31");  // GPU1
  const std::string near = top + "0000:02:01.0/0000:0a:00.0";
  const std::string far = "pci0000:80/0000:80:02.0/0000:8a:00.0";
  sys_.add_device(near, 0, "0-15");
  sys_.add_device(far, 1, "16-31");
  sys_.add_rdma("mlx5_10", far);
  sys_.add_rdma("mlx5_9", near);
  std::filesystem::create_directories(sys_.root() / "class/infiniband/rxe0");
  const Topology topology = survey("rtx3090-nv4");
  ASSERT_THAT(topology.nics, SizeIs(2));
  EXPECT_EQ(topology.nics[0].name, "mlx5_9");
  EXPECT_EQ(topology.nics[0].pci_bus_id, "0000:0a:00.0");
  EXPECT_EQ(topology.nics[1].name, "mlx5_10");
  EXPECT_EQ(topology.nics[1].numa_node, Reading<int>(1));
  EXPECT_THAT(labels(topology), ElementsAre("NV4", "PIX", "SYS", "NV4", "SYS", "PHB", "PIX", "SYS",
                                            "SYS", "SYS", "PHB", "SYS"));
}

TEST(PciName, IsTheKernels) {
  EXPECT_EQ(sysfs_pci_name("0000:00:06.0"), "0000:00:06.0");
  EXPECT_EQ(sysfs_pci_name("00000000:C1:06.1"), "0000:c1:06.1");
  EXPECT_EQ(sysfs_pci_name("00010000:3b:00.0"), "10000:3b:00.0");
}

TEST(PciName, RefusesOtherText) {
  for (const char* text : {"", "nonsense", "00:06.0", "0000:00:06.0/..", "0000:00:06", "../x"}) {
    EXPECT_EQ(sysfs_pci_name(text), "") << text;
  }
}

TEST(PciName, IsThatOfTheKernelsFolder) {
  EXPECT_EQ(pci_devices("/sys"), "/sys/bus/pci/devices");
  EXPECT_EQ(pci_folder("/sys", "00000000:C1:06.1"), "/sys/bus/pci/devices/0000:c1:06.1");
}

std::optional<PciPlace> place_of(const FakeSys& sys, const std::string& id) {
  return pci_place(sys.root(), sys.root() / "bus/pci/devices" / id);
}

/// Returns the ancestor of two devices with these places and NUMA nodes.
Reading<Ancestor> between(const std::string& a, int node_a, const std::string& b, int node_b,
                          const std::string& nodes = "0-1") {
  const FakeSys sys;
  sys.write("devices/system/node/online", nodes);
  sys.add_device(a, node_a, "0-3");
  sys.add_device(b, node_b, "0-3");
  const auto place = [&](const std::string& text) {
    return place_of(sys, text.substr(text.rfind('/') + 1)).value();
  };
  const Reading<Ancestor> forth = common_ancestor(place(a), place(b));
  EXPECT_EQ(forth, common_ancestor(place(b), place(a)));
  return forth;
}

constexpr const char* kFirst = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0";

TEST(PciPlace, IsThePathFromTheRootComplex) {
  const FakeSys sys;
  sys.add_device(kFirst, 1, "32-63");
  const auto place = place_of(sys, "0000:03:00.0");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->id, "0000:03:00.0");
  EXPECT_THAT(place->path, ElementsAre("pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0",
                                       "0000:03:00.0"));
  EXPECT_EQ(place->numa_node, Reading<int>(1));
  EXPECT_EQ(place->cpus, Reading<std::string>("32-63"));
}

TEST(PciPlace, OfSomethingBelowADeviceIsTheDevices) {
  const FakeSys sys;
  sys.add_device(kFirst, 0, "0-3");
  sys.write(std::string("devices/") + kFirst + "/mlx5_core.sf.2/sfnum", "2");
  const auto place = pci_place(sys.root(), sys.root() / "devices" / kFirst / "mlx5_core.sf.2");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->id, "0000:03:00.0");
}

TEST(PciPlace, IsAbsentWhereThereIsNoPciDevice) {
  const FakeSys sys;
  sys.write("devices/virtual/net/lo/mtu", "1500");
  EXPECT_FALSE(place_of(sys, "0000:03:00.0"));
  EXPECT_FALSE(pci_place(sys.root(), sys.root() / "devices/virtual/net/lo"));
}

TEST(PciPlace, NodeMinusOneIsTheOnlyNodeOrNotKnown) {
  const FakeSys sys;
  sys.add_device(kFirst, -1, "0-3");
  EXPECT_EQ(place_of(sys, "0000:03:00.0")->numa_node, Reading<int>(0));
  sys.write("devices/system/node/online", "0-1");
  EXPECT_FALSE(place_of(sys, "0000:03:00.0")->numa_node.measured());
}

TEST(PciPlace, SaysWhatTheKernelDoesNotTell) {
  const FakeSys sys;
  sys.add_device(kFirst, 0, "");
  std::filesystem::remove(sys.root() / "devices" / kFirst / "numa_node");
  const auto place = place_of(sys, "0000:03:00.0");
  Situations answers;
  answers.add("no numa_node", place->numa_node.reason());
  answers.add("no local_cpulist", place->cpus.reason());
  answers.add("numa_node -1 of several, and the path there",
              between(kFirst, 0, "pci0000:80/0000:80:01.0/0000:81:00.0", -1).reason());
  answers.expect_golden("places_missing.txt");
}

TEST(CommonAncestor, OfOneSwitchIsPix) {
  EXPECT_EQ(between(kFirst, 0, "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", 0),
            Ancestor::pix);
  EXPECT_EQ(
      between("pci0000:00/0000:00:01.0/0000:01:00.0", 0, "pci0000:00/0000:00:01.0/0000:01:00.1", 0),
      Ancestor::pix)
      << "two functions of one card";
}

TEST(CommonAncestor, OfSeveralSwitchesIsPxb) {
  EXPECT_EQ(between(kFirst, 0,
                    "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0/0000:05:00.0/"
                    "0000:06:00.0",
                    0),
            Ancestor::pxb);
}

TEST(CommonAncestor, OfOneRootComplexIsPhb) {
  EXPECT_EQ(between("pci0000:00/0000:00:06.0", 0, "pci0000:00/0000:00:07.0", 0), Ancestor::phb);
  EXPECT_EQ(between(kFirst, 0, "pci0000:00/0000:00:02.0/0000:08:00.0", 0), Ancestor::phb);
}

TEST(CommonAncestor, OfTwoRootComplexesIsTheNodeOrTheSystem) {
  const std::string other = "pci0000:80/0000:80:01.0/0000:81:00.0";
  EXPECT_EQ(between(kFirst, 1, other, 1), Ancestor::node);
  EXPECT_EQ(between(kFirst, 0, other, 1), Ancestor::sys);
  EXPECT_EQ(between(kFirst, -1, other, -1, "0"), Ancestor::node);
  EXPECT_FALSE(between(kFirst, 0, other, -1).measured());
}

namespace fs = std::filesystem;

/// Makes 4096 bytes with a capability before the one of access control.
std::string configuration_space(unsigned char control, bool has_acs = true) {
  std::string space(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value) {
    for (std::size_t i = 0; i < 4; ++i) {
      space[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
    }
  };
  put(0x100, 0x14820001);  // advanced error reporting, version 2, next at 0x148
  put(0x148, has_acs ? 0x0001000d : 0x00010019);
  put(0x14c, static_cast<unsigned>(control) << 16 | 0x5f);
  return space;
}

TEST(PciTree, ReadsAccessControl) {
  EXPECT_EQ(acs_redirects(configuration_space(0x00)), Reading<bool>(false));
  EXPECT_EQ(acs_redirects(configuration_space(0x1d)), Reading<bool>(true));
  EXPECT_EQ(acs_redirects(configuration_space(0x04)), Reading<bool>(true));
  EXPECT_EQ(acs_redirects(configuration_space(0x08)), Reading<bool>(true));
  EXPECT_EQ(acs_redirects(configuration_space(0x11)), Reading<bool>(false)) << "no redirect";
  EXPECT_EQ(acs_redirects(configuration_space(0x1d, false)), Reading<bool>(false)) << "no ACS";
  EXPECT_EQ(acs_redirects(std::string(4096, '\0')), Reading<bool>(false)) << "no capability";
  EXPECT_EQ(acs_redirects(std::string(4096, '\xff')), Reading<bool>(false)) << "device is gone";
}

TEST(PciTree, WithoutRootTheCapabilitiesCannotBeRead) {
  const Reading<bool> redirects = acs_redirects(std::string(64, '\0'));
  EXPECT_FALSE(redirects.measured());
  EXPECT_THAT(redirects.reason(), HasSubstr("root"));
}

TEST(PciTree, ACircleOfCapabilitiesEnds) {
  std::string space = configuration_space(0x1d, false);
  space[0x14b] = '\x10';  // back to 0x100
  space[0x14a] = '\x01';
  EXPECT_EQ(acs_redirects(space), Reading<bool>(false));
}

/// A GPU below a switch below a root port, and one at the root.
class PciFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path root = sys() / "devices/pci0000:00";
    add(root / "0000:00:01.0", "0x8086", "0x060400", 0x1d);
    add(root / "0000:00:01.0/0000:01:00.0", "0x1000", "0x060400", 0x00);
    add(root / "0000:00:01.0/0000:01:00.0/0000:02:00.0", "0x10de", "0x030200", 0x00);
    add(root / "0000:00:06.0", "0x10de", "0x030000", 0x00);
    add(root / "0000:00:06.1", "0x10de", "0x040300", 0x00);  // its sound
  }

  void add(const fs::path& folder, const std::string& vendor, const std::string& kind,
           unsigned char control) {
    fs::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
    std::ofstream(folder / "class") << kind << "\n";
    std::ofstream(folder / "config", std::ios::binary) << configuration_space(control);
    fs::create_directories(sys() / "bus/pci/devices");
    fs::create_directory_symlink(folder, sys() / "bus/pci/devices" / folder.filename());
  }

  fs::path sys() const { return folder_ / "sys"; }

 private:
  ScratchFolder folder_;
};

TEST_F(PciFolder, FindsTheBridgesAboveAGpu) {
  const auto bridges = bridges_above(sys(), {"00000000:02:00.0", "00000000:00:06.0"});
  ASSERT_TRUE(bridges.measured());
  ASSERT_EQ(bridges.value().size(), 2U);
  EXPECT_EQ(bridges.value()[0].pci_bus_id, "0000:01:00.0");
  EXPECT_EQ(bridges.value()[0].redirects, Reading<bool>(false));
  EXPECT_EQ(bridges.value()[1].pci_bus_id, "0000:00:01.0");
  EXPECT_EQ(bridges.value()[1].redirects, Reading<bool>(true));
  EXPECT_THAT(bridges_above(sys(), {"00000000:00:06.0"}).value(), IsEmpty());
  EXPECT_FALSE(bridges_above(sys(), {"00000000:77:00.0"}).measured());
}

TEST_F(PciFolder, FindsBridgesOfADomainWithALongNumber) {
  const fs::path root = sys() / "devices/pci10000:00/10000:00:01.0";
  add(root, "0x8086", "0x060400", 0x00);
  add(root / "10000:01:00.0", "0x10de", "0x030200", 0x00);
  const auto bridges = bridges_above(sys(), {"00010000:01:00.0"});
  ASSERT_TRUE(bridges.measured());
  ASSERT_EQ(bridges.value().size(), 1U);
  EXPECT_EQ(bridges.value()[0].pci_bus_id, "10000:00:01.0");
}

TEST_F(PciFolder, FindsNvidiasGpus) {
  EXPECT_THAT(nvidia_devices(sys()).value(), ElementsAre("0000:00:06.0", "0000:02:00.0"));
  EXPECT_FALSE(nvidia_devices("/nonexistent").measured());
}

TEST_F(PciFolder, FindsTheKindOfTranslation) {
  EXPECT_FALSE(iommu_domain(sys(), "00000000:00:06.0").measured());
  const fs::path group = sys() / "kernel/iommu_groups/7";
  fs::create_directories(group);
  fs::create_directory_symlink(group, sys() / "bus/pci/devices/0000:00:06.0/iommu_group");
  EXPECT_FALSE(iommu_domain(sys(), "00000000:00:06.0").measured()) << "an old kernel";
  std::ofstream(group / "type") << "DMA-FQ\n";
  EXPECT_EQ(iommu_domain(sys(), "00000000:00:06.0"), Reading<std::string>("DMA-FQ"));
}

TEST_F(PciFolder, FindsTheIommus) {
  EXPECT_FALSE(iommu_units(sys()).measured());
  fs::create_directories(sys() / "class/iommu");
  EXPECT_THAT(iommu_units(sys()).value(), IsEmpty());
  fs::create_directories(sys() / "class/iommu/dmar1");
  fs::create_directories(sys() / "class/iommu/dmar0");
  EXPECT_THAT(iommu_units(sys()).value(), ElementsAre("dmar0", "dmar1"));
}

}  // namespace
}  // namespace linkgain::test
