#include "kernels/copy/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::DeviceBuffer;
using gpu::Stream;

constexpr std::int64_t kGuard = 256;

/// Device memory of numbers that differ from place to place, or of one value, and what must stay.
class Words {
 public:
  explicit Words(std::int64_t bytes) : bytes_(bytes), memory_(Bytes{bytes + kGuard}) { clear(); }

  void* data() const { return memory_.data(); }
  void clear() {
    check(cudaMemset(data(), 0x5a, static_cast<std::size_t>(bytes_ + kGuard)));
    check(cudaDeviceSynchronize());
  }
  void count_from(std::uint32_t first) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(bytes_) / 4);
    for (std::uint32_t& word : words) word = first++;
    check(
        cudaMemcpy(data(), words.data(), static_cast<std::size_t>(bytes_), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // such a copy may still be on its way when the call is back
  }
  void expect_count_from(std::uint32_t first) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(bytes_ + kGuard) / 4);
    check(cudaMemcpy(words.data(), data(), words.size() * 4, cudaMemcpyDeviceToHost));
    const auto counted = static_cast<std::size_t>(bytes_) / 4;
    for (std::size_t i = 0; i < counted; ++i) ASSERT_EQ(words[i], first + i) << "word " << i;
    for (std::size_t i = counted; i < words.size(); ++i) ASSERT_EQ(words[i], 0x5a5a5a5aU);
  }

 private:
  std::int64_t bytes_;
  DeviceBuffer memory_;
};

const std::vector<std::int64_t> kSizes{16, 48, 16'384, 1'000'016, std::int64_t{20} << 20};

class CopyKernels : public test::GpuTest {};

TEST_F(CopyKernels, CopyEveryByteAndNoMoreByEveryShape) {
  const Stream stream;
  for (const CopyShape& shape : kCopyShapes) {
    for (const std::int64_t bytes : kSizes) {
      Words from(bytes);
      const Words to(bytes);
      from.count_from(7);
      check(copy(to.data(), from.data(), bytes, shape, stream.get()));
      stream.synchronize();
      to.expect_count_from(7);
    }
  }
}

TEST_F(CopyKernels, RefuseWhatIsNotAligned) {
  const Stream stream;
  const Words memory(64);
  auto* begin = static_cast<char*>(memory.data());
  EXPECT_EQ(copy(begin, begin + 32, 8, kCopyShapes[0], stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(copy(begin + 4, begin + 32, 16, kCopyShapes[0], stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(copy(begin, begin + 32, 0, kCopyShapes[0], stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(copy(begin, begin + 32, 16, {3, 64, 1}, stream.get()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels
