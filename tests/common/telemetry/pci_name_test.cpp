#include "linkgain/telemetry/pci_name.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

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

}  // namespace
}  // namespace linkgain
