#include "linkgain/gpu/graph.hpp"

#include <stdexcept>
#include <utility>

#include "gpu_fixture.hpp"

namespace linkgain::test {
namespace {

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

  /// The stream carries out work, and can be captured.
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
