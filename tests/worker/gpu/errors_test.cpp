#include "linkgain/gpu/errors.hpp"

#include <gmock/gmock.h>

#include <source_location>
#include <string>

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::HasSubstr;

TEST(Check, success_is_silent) { EXPECT_NO_THROW(check(cudaSuccess)); }

TEST(Check, names_the_error_and_the_place) {
  try {
    check(cudaErrorInvalidValue);
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
    EXPECT_EQ(error.exit_code(), ExitCode::machine_cannot);
    EXPECT_THAT(error.what(), HasSubstr("cudaErrorInvalidValue"));
    EXPECT_THAT(error.what(), HasSubstr("at errors_test.cpp:"));
  }
}

TEST(PlaceOf, names_the_file_without_its_folder) {
  const std::source_location here = std::source_location::current();
  EXPECT_EQ(place_of(here), "errors_test.cpp:" + std::to_string(here.line()));
}

TEST(Check, is_a_linkgain_error) { EXPECT_THROW(check(cudaErrorUnknown), MachineError); }

TEST(Check, says_what_to_do) {
  for (const cudaError_t code :
       {cudaErrorMemoryAllocation, cudaErrorNoDevice, cudaErrorInsufficientDriver,
        cudaErrorDevicesUnavailable, cudaErrorNoKernelImageForDevice}) {
    EXPECT_FALSE(CudaError(code, std::source_location::current()).advice().empty()) << code;
  }
}

}  // namespace
}  // namespace linkgain::test
