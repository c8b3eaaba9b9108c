#include "linkgain/gpu/nccl_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::AllOf;
using ::testing::HasSubstr;

MachineError error_of(const std::string& name) {
  try {
    const NcclLibrary library(name, "a test");
  } catch (const MachineError& error) {
    return error;
  }
  ADD_FAILURE() << "no exception";
  return MachineError("");
}

TEST(NcclLibrary, SaysItsVersionAndItsFile) {
  const NcclLibrary library(NCCL_DOUBLE, "a test");
  EXPECT_EQ(library.version(), 21903);
  EXPECT_EQ(library.path(), std::filesystem::canonical(NCCL_DOUBLE));
  EXPECT_EQ(library.found_by(), "a test");
}

TEST(NcclLibrary, WhatAnOlderOneLacksIsNull) {
  const NcclLibrary library(NCCL_DOUBLE, "a test");
  EXPECT_NE(library.all_reduce, nullptr);
  EXPECT_NE(library.comm_register, nullptr);
  EXPECT_EQ(library.comm_window_register, nullptr);
  EXPECT_FALSE(library.exchanges.present());
  EXPECT_EQ(library.dev_comm_create, nullptr);
  EXPECT_EQ(library.reset_debug_init, nullptr);
}

TEST(NcclLibrary, StaysOpenWhereItIsMoved) {
  NcclLibrary first(NCCL_DOUBLE, "a test");
  const NcclLibrary second(std::move(first));
  int version = 0;
  EXPECT_EQ(second.get_version(&version), ncclSuccess);
  EXPECT_EQ(version, 21903);
}

TEST(NcclLibrary, RefusesWhatIsNone) {
  const MachineError missing = error_of("/nowhere/libnccl.so.2");
  EXPECT_THAT(missing.what(), HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_THAT(missing.advice(), AllOf(HasSubstr("LINKGAIN_NCCL"), HasSubstr("--backend mpi")));
  EXPECT_EQ(missing.exit_code(), ExitCode::machine_cannot);
  EXPECT_THAT(error_of("libm.so.6").what(), AllOf(HasSubstr("libm"), HasSubstr("ncclGetVersion")));
}

TEST(NcclLibrary, RefusesOneBefore219) {
  ::setenv("LINKGAIN_NCCL_DOUBLE", "21805", 1);
  EXPECT_THAT(error_of(NCCL_DOUBLE).what(),
              AllOf(HasSubstr("older than NCCL 2.19"), HasSubstr("21805")));
  ::unsetenv("LINKGAIN_NCCL_DOUBLE");
}

}  // namespace
}  // namespace linkgain::test
