#include "nccl/nccl_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;

/// What the doubles of NCCL's functions were called with.
struct Asked {
  std::string function;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  int root = -1;
  bool operator==(const Asked&) const = default;
};

std::vector<Asked>& asked() {
  static std::vector<Asked> calls;
  return calls;
}

ncclResult_t take_alltoall(const void* input, void* output, std::size_t count, ncclDataType_t,
                           ncclComm_t, cudaStream_t) {
  asked().push_back({"alltoall", input, output, count, -1});
  return ncclSuccess;
}

ncclResult_t take_gather(const void* input, void* output, std::size_t count, ncclDataType_t,
                         int root, ncclComm_t, cudaStream_t) {
  asked().push_back({"gather", input, output, count, root});
  return ncclSuccess;
}

ncclResult_t take_scatter(const void* input, void* output, std::size_t count, ncclDataType_t,
                          int root, ncclComm_t, cudaStream_t) {
  asked().push_back({"scatter", input, output, count, root});
  return ncclSuccess;
}

constexpr NcclExchanges kDoubles{take_alltoall, take_gather, take_scatter};

NcclCall call_of(OperationKind operation, const NcclExchanges& exchanges) {
  Case c;
  c.operation = operation;
  c.size = Bytes{4096};
  c.ranks = 4;
  if (has_root(operation)) c.root = 3;
  return {c, ncclFloat32, ncclSum, 1, nullptr, nullptr, exchanges};
}

TEST(NcclCalls, ExchangesAreNcclsOwnFunctionsWhereItHasThem) {
  asked().clear();
  float input = 0.0F;
  float output = 0.0F;
  enqueue(call_of(OperationKind::alltoall, kDoubles), &input, &output);
  enqueue(call_of(OperationKind::gather, kDoubles), &input, nullptr);
  enqueue(call_of(OperationKind::scatter, kDoubles), nullptr, &output);
  EXPECT_THAT(asked(), ElementsAre(Asked{"alltoall", &input, &output, 256, -1},
                                   Asked{"gather", &input, nullptr, 256, 3},
                                   Asked{"scatter", nullptr, &output, 256, 3}))
      << "counts are of one rank's part";
}

TEST(NcclCalls, OnlyExchangesThatNcclLacksAreGrouped) {
  for (const OperationKind operation : kOperations) {
    EXPECT_FALSE(is_grouped(call_of(operation, kDoubles))) << name_of(operation);
    EXPECT_EQ(is_grouped(call_of(operation, {})), is_exchange(operation)) << name_of(operation);
  }
}

TEST(NcclCalls, ExchangesAreThereFrom228On) {
  EXPECT_EQ(nccl_exchanges().present(), nccl().version() >= 22800) << nccl().path();
}

}  // namespace
}  // namespace linkgain::test
