#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "nccl/api.hpp"
#include "nccl/nccl_calls.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(NcclApi, OnlyNcclTestsHasSettingsOfACommunicator) {
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).blocking, NCCL_CONFIG_UNDEF_INT);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).nvlinkCentricSched,
            NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(communicator_config(CommunicatorSettings::as_nccl_tests).nvlinkCentricSched, 1);
#endif
}

TEST(NcclApi, BuffersThatTheLibraryLacksAreRefusedWithBothVersions) {
  const gpu::NcclLibrary old(NCCL_DOUBLE, "a test");
  for (const Buffers kind : {Buffers::plain, Buffers::allocated, Buffers::registered}) {
    EXPECT_NO_THROW(require_buffers(old, kind)) << name_of(kind);
  }
  try {
    require_buffers(old, Buffers::symmetric);
    FAIL() << "no exception";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("need NCCL 2.27"), HasSubstr("is 2.19.3")));
    EXPECT_THAT(error.advice(), HasSubstr("--buffers"));
  }
}

TEST(DeviceApi, Of228NeedsTheVeryLibraryItWasCompiledWith) {
  EXPECT_FALSE(device_api_mismatch(22803, 22803));
  EXPECT_FALSE(device_api_mismatch(22809, 22809));
  for (const int loaded : {22800, 22807, 22902, 23007}) {
    EXPECT_TRUE(device_api_mismatch(22803, loaded)) << loaded;
  }
  EXPECT_TRUE(device_api_mismatch(22809, 22803));
}

TEST(DeviceApi, From229OnNeedsALibraryNoOlder) {
  EXPECT_FALSE(device_api_mismatch(22902, 22902));
  EXPECT_FALSE(device_api_mismatch(22902, 23007));
  EXPECT_TRUE(device_api_mismatch(23007, 22902));
  EXPECT_TRUE(device_api_mismatch(22902, 22809));
}

TEST(DeviceApi, ThatIsMissingOrAnotherIsNamed) {
  EXPECT_THAT(device_api_mismatch(22809, 22705).value_or(""),
              AllOf(HasSubstr("2.27.5"), Not(HasSubstr("2.28.9"))));
  EXPECT_THAT(device_api_mismatch(22809, 22803).value_or(""),
              AllOf(HasSubstr("2.28.9"), HasSubstr("2.28.3")));
}

TEST(DeviceApi, IsThereInABuildThatLoadsItsOwnLibrary) {
#if LINKGAIN_EXPECT_DEVICE_API
  EXPECT_EQ(device_api_problem(), std::nullopt);
#else
  EXPECT_THAT(device_api_problem().value_or(""), HasSubstr("device API"));
#endif
}

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
