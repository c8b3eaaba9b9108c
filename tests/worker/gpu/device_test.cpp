#include "linkgain/gpu/device.hpp"

#include <gmock/gmock.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "gpu_fixture.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::test {
namespace {

using testing::MatchesRegex;

using namespace gpu;

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
  EXPECT_EQ(runtime_version(), cuda_version_text(CUDART_VERSION));
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

using namespace gpu;

constexpr std::size_t kBytes = 256;
const std::vector<std::uint8_t> kZeros(kBytes, 0);
const std::vector<std::uint8_t> kOnes(kBytes, 1);

class GraphTest : public GpuTest {
 protected:
  /// Fills the buffer through the stream, directly or into a capture.
  static void fill(const DeviceBuffer& buffer, int byte, const Stream& stream) {
    check(cudaMemsetAsync(buffer.data(), byte, kBytes, stream.get()));
  }

  static bool capturing(const Stream& stream) {
    cudaStreamCaptureStatus status{};
    check(cudaStreamIsCapturing(stream.get(), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  /// Expects that the stream carries out work and can be captured.
  static void expect_usable(const Stream& stream) {
    EXPECT_FALSE(capturing(stream));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const DeviceBuffer buffer(Bytes{kBytes});
    fill(buffer, 0, stream);
    EXPECT_EQ(download(buffer, stream), kZeros);
    capture(stream, [&] { fill(buffer, 1, stream); }).launch(stream);
    EXPECT_EQ(download(buffer, stream), kOnes);
  }
};

TEST_F(GraphTest, captured_work_runs_at_launch_and_not_before) {
  const Stream stream;
  const DeviceBuffer buffer(Bytes{kBytes});
  fill(buffer, 0, stream);
  const GraphExecutable graph = capture(stream, [&] {
    EXPECT_TRUE(capturing(stream));
    fill(buffer, 1, stream);
  });
  EXPECT_FALSE(capturing(stream));
  EXPECT_EQ(download(buffer, stream), kZeros);
  for (int launch = 0; launch < 2; ++launch) {
    fill(buffer, 0, stream);
    graph.launch(stream);
    EXPECT_EQ(download(buffer, stream), kOnes);
  }
}

TEST_F(GraphTest, moves) {
  const Stream stream;
  const DeviceBuffer buffer(Bytes{kBytes});
  fill(buffer, 0, stream);
  GraphExecutable first = capture(stream, [&] { fill(buffer, 1, stream); });
  const GraphExecutable second(std::move(first));
  second.launch(stream);
  EXPECT_EQ(download(buffer, stream), kOnes);
}

TEST_F(GraphTest, an_exception_inside_leaves_the_device_usable) {
  const Stream stream;
  const DeviceBuffer buffer(Bytes{kBytes});
  fill(buffer, 0, stream);
  const auto work = [&] {
    fill(buffer, 1, stream);
    throw std::runtime_error("inside");
  };
  EXPECT_THROW(capture(stream, work), std::runtime_error);
  EXPECT_EQ(download(buffer, stream), kZeros);
  expect_usable(stream);
}

TEST_F(GraphTest, a_forbidden_call_inside_leaves_the_device_usable) {
  const Stream stream;
  EXPECT_THROW(capture(stream, [&] { stream.synchronize(); }), CudaError);
  expect_usable(stream);
}

TEST_F(GraphTest, a_forbidden_call_that_the_work_hides_fails_the_capture) {
  const Stream stream;
  const auto work = [&] { static_cast<void>(cudaStreamSynchronize(stream.get())); };
  EXPECT_THROW(capture(stream, work), CudaError);
  expect_usable(stream);
}

TEST_F(GraphTest, a_capture_inside_a_capture_is_refused) {
  const Stream stream;
  EXPECT_THROW(capture(stream, [&] { capture(stream, [] {}); }), CudaError);
  expect_usable(stream);
}

TEST_F(GraphTest, another_streams_exception_does_not_end_this_capture) {
  const Stream stream;
  const Stream other;
  const DeviceBuffer buffer(Bytes{kBytes});
  fill(buffer, 0, stream);
  const GraphExecutable graph = capture(stream, [&] {
    EXPECT_THROW(capture(other, [] { throw std::runtime_error("other"); }), std::runtime_error);
    fill(buffer, 1, stream);
  });
  graph.launch(stream);
  EXPECT_EQ(download(buffer, stream), kOnes);
  expect_usable(other);
}

}  // namespace
}  // namespace linkgain::test
