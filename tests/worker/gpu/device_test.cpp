#include "linkgain/gpu/device.hpp"

#include <gmock/gmock.h>

#include <set>

#include "gpu_fixture.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::MatchesRegex;

TEST(DeviceText, versions) {
  EXPECT_EQ(version_text(13000), "13.0");
  EXPECT_EQ(version_text(12080), "12.8");
  EXPECT_EQ(version_text(11080), "11.8");
}

TEST(DeviceText, uuids) {
  cudaUUID_t uuid{};
  for (int byte = 0; byte < 16; ++byte) uuid.bytes[byte] = static_cast<char>(byte * 17);
  EXPECT_EQ(uuid_text(uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

TEST(DeviceText, pci_bus_ids) {
  EXPECT_EQ(pci_bus_id_text(0, 0, 6), "00000000:00:06.0");
  EXPECT_EQ(pci_bus_id_text(0x1, 0xab, 0x1f), "00000001:ab:1f.0");
}

TEST(Versions, the_runtime_is_the_one_built_with) {
  EXPECT_EQ(runtime_version(), version_text(CUDART_VERSION));
}

TEST(Devices, none_comes_with_a_reason) {
  std::string reason;
  if (device_count(&reason) == 0) {
    EXPECT_FALSE(reason.empty());
  } else {
    EXPECT_TRUE(reason.empty());
  }
}

using DeviceTest = GpuTest;

TEST_F(DeviceTest, every_device_is_described) {
  std::set<std::string> uuids;
  for (int index = 0; index < device_count(); ++index) {
    const GpuInfo info = device_info(index);
    EXPECT_EQ(info.cuda_index, index);
    EXPECT_FALSE(info.name.empty());
    EXPECT_THAT(info.uuid, MatchesRegex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
    EXPECT_THAT(info.pci_bus_id, MatchesRegex("[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\\.0"));
    EXPECT_THAT(info.compute_capability, MatchesRegex("[0-9]+\\.[0-9]"));
    EXPECT_GT(info.memory_bytes, std::int64_t{1} << 30);
    EXPECT_GT(info.l2_bytes, 1 << 18);
    EXPECT_GT(info.multiprocessors, 0);
    uuids.insert(info.uuid);
  }
  EXPECT_EQ(static_cast<int>(uuids.size()), device_count());
}

TEST_F(DeviceTest, the_bus_id_finds_the_device_again) {
  int device = -1;
  check(cudaDeviceGetByPCIBusId(&device, device_info(0).pci_bus_id.c_str()));
  EXPECT_EQ(device, 0);
}

TEST_F(DeviceTest, a_device_that_is_not_there_is_refused) {
  EXPECT_THROW(device_info(device_count()), CudaError);
}

TEST_F(DeviceTest, the_driver_has_a_version) {
  ASSERT_TRUE(driver_version().has_value());
  EXPECT_THAT(*driver_version(), MatchesRegex("[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace linkgain::test
