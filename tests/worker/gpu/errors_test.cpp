#include "linkgain/gpu/errors.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <vector>

#include "cublas_library.hpp"
#include "linkgain/gpu/matrix_product.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using namespace gpu;

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

using namespace gpu;

/// Returns the error of opening `names`.
MachineError error_of(const std::vector<std::string>& names) {
  try {
    const CublasLibrary library(names);
  } catch (const MachineError& error) {
    return error;
  }
  ADD_FAILURE() << "no exception";
  return MachineError("");
}

bool is_loaded(const std::string& name) {
  void* object = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (object != nullptr) dlclose(object);
  return object != nullptr;
}

TEST(CublasLibrary, OneThatIsMissingIsNamedWithAdvice) {
  const MachineError error = error_of({"libcublasLt.so.0", "/nowhere/libcublasLt.so.0"});
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr(" libcublasLt.so.0: "), HasSubstr(" /nowhere/libcublasLt.so.0: ")));
  EXPECT_THAT(error.advice(), HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_EQ(error.exit_code(), ExitCode::machine_cannot);
}

TEST(CublasLibrary, OneWithoutTheFunctionsIsRefused) {
  const MachineError error = error_of({"/nowhere/libcublasLt.so.0", "libm.so.6"});
  EXPECT_THAT(error.what(), AllOf(HasSubstr("libm.so.6"), HasSubstr("cublasLtGetStatusName")));
  EXPECT_THAT(error.advice(), HasSubstr("LD_LIBRARY_PATH"));
}

TEST(CublasLibrary, IsLookedForByTheNameOfTheVersionCompiledAgainst) {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  const std::vector<std::string> names = cublas_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), name);
  for (const std::string& each : names) EXPECT_TRUE(each.ends_with(name)) << each;
}

TEST(CublasLibrary, IsOpenedAtItsFirstUseOnly) {
  EXPECT_FALSE(is_loaded(cublas_names().front())) << "the program is linked with it";
  try {
    EXPECT_STREQ(cublas().get_status_name(CUBLAS_STATUS_NOT_SUPPORTED),
                 "CUBLAS_STATUS_NOT_SUPPORTED");
  } catch (const MachineError& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(&cublas(), &cublas());
}

using namespace gpu;

std::size_t choice_of(const std::vector<double>& times) {
  std::vector<ProductCandidate> candidates;
  for (const double time : times) candidates.push_back({"", {time}});
  return choose_candidate(candidates);
}

TEST(ProductChoice, StaysWithTheFirstUnlessAnotherIsWorthIt) {
  EXPECT_EQ(choice_of({1.0}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.98, 0.975}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.97}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.98, 0.96}), 2U);
}

TEST(ProductChoice, TakesTheFastestOfThoseThatAre) {
  EXPECT_EQ(choice_of({1.0, 0.9, 0.8, 0.85}), 2U);
  EXPECT_EQ(choice_of({1.0, 0.5, 0.9, 0.5}), 1U);
}

TEST(ProductChoice, LeavesOutWhatWasNotTimed) {
  EXPECT_EQ(choice_of({0.0, 0.0}), 0U);
  EXPECT_EQ(choice_of({0.0, 0.5}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.0, 0.5}), 2U);
  EXPECT_EQ(choice_of({}), 0U);
}

TEST(ProductChoice, DescribesShapes) {
  const std::string plain = description(ProductShape{.rows = 4, .columns = 5, .inner = 6});
  EXPECT_THAT(plain,
              AllOf(HasSubstr("4 x 5 x 6"), Not(HasSubstr("transposed")), Not(HasSubstr("bias"))));
  EXPECT_THAT(description(ProductShape{.rows = 4,
                                       .columns = 5,
                                       .inner = 6,
                                       .left_transposed = true,
                                       .right_transposed = true,
                                       .has_bias = true}),
              AllOf(StartsWith(plain), HasSubstr("left transposed"), HasSubstr("right transposed"),
                    HasSubstr("bias")));
}

}  // namespace
}  // namespace linkgain::test
