#include "cublas_library.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// What opening `names` fails with.
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

}  // namespace
}  // namespace linkgain::test
