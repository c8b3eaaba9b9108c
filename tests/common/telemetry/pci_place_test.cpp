#include "pci_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_sys.hpp"

namespace linkgain {
namespace {

using ::testing::ElementsAre;
using testing::FakeSys;

std::optional<PciPlace> place_of(const FakeSys& sys, const std::string& id) {
  return pci_place(sys.root(), sys.root() / "bus/pci/devices" / id);
}

/// Two devices with these places and NUMA nodes.
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
  EXPECT_EQ(place_of(sys, "0000:03:00.0")->numa_node.reason(),
            "the firmware assigns the device to no NUMA node");
}

TEST(PciPlace, SaysWhatTheKernelDoesNotTell) {
  const FakeSys sys;
  sys.add_device(kFirst, 0, "");
  std::filesystem::remove(sys.root() / "devices" / kFirst / "numa_node");
  const auto place = place_of(sys, "0000:03:00.0");
  EXPECT_EQ(place->numa_node.reason(), "the kernel knows of no NUMA node");
  EXPECT_EQ(place->cpus.reason(), "the kernel names no CPUs near the device");
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
  EXPECT_EQ(between(kFirst, 0, other, -1).reason(),
            "the firmware assigns the device to no NUMA node");
}

}  // namespace
}  // namespace linkgain
