#include "linkgain/gpu/product_norm.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "gpu_fixture.hpp"
#include "support/bfloat16.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ProductNormTest = GpuTest;

constexpr ProductNormShape kShape{.tokens = 8, .hidden = 256, .inner = 448, .copies = 2};

TEST_F(ProductNormTest, AddsAProductUntilItIsSilenced) {
  const Stream stream;
  ProductNorm around(kShape, stream);
  const DeviceBuffer result({kShape.tokens * kShape.hidden * 2});
  std::vector<std::uint8_t> before(static_cast<std::size_t>(result.size().value));
  for (std::size_t i = 0; i < before.size(); i += 2) {
    const std::uint16_t bits = to_bfloat16(static_cast<float>(i % 200));
    std::memcpy(&before[i], &bits, 2);
  }
  upload(result, before, stream);
  around.multiply(result.data());
  const std::vector<std::uint8_t> after = download(result, stream);
  EXPECT_NE(after, before);
  around.normalise(result.data());
  around.multiply(result.data());
  EXPECT_NE(download(result, stream), after);
  around.silence();
  upload(result, before, stream);
  for (int turn = 0; turn < 5; ++turn) {
    around.multiply(result.data());
    around.normalise(result.data());
  }
  EXPECT_EQ(download(result, stream), before) << "exact, so that sums behind it can be checked";
  EXPECT_THAT(around.algorithm(), testing::StartsWith("algo "));
}

}  // namespace
}  // namespace linkgain::test
