#include "linkgain/gpu/nccl_library.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using namespace gpu;

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

using namespace gpu;

constexpr std::string_view kName = "libnccl.so.2";

/// Folders that a test fills with empty files.
class LibrarySearch : public testing::Test {
 protected:
  std::string put(const std::string& path) const {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "";
    return file.string();
  }
  std::string at(const std::string& path) const { return (folder_ / path).string(); }
  std::vector<LibraryFile> files(const Environment& environment) const {
    return nccl_files(environment, folder_.path());
  }
  std::vector<std::filesystem::path> wheels(const Environment& environment) const {
    return wheel_files(environment, {"nccl"}, kName, folder_.path());
  }

  test::ScratchFolder folder_;
};

TEST_F(LibrarySearch, WithoutAnythingIsTheLoaders) {
  EXPECT_THAT(files({}), ElementsAre(LibraryFile{"libnccl.so.2", "loader"}));
}

TEST_F(LibrarySearch, WhatIsNamedIsTheOnlyOne) {
  const std::string file = put("here/lib/libnccl.so.2");
  Environment environment{{"NCCL_HOME", at("here")}, {"LINKGAIN_NCCL", "/opt/libnccl.so.2.28.9"}};
  EXPECT_THAT(files(environment),
              ElementsAre(LibraryFile{"/opt/libnccl.so.2.28.9", "LINKGAIN_NCCL"}));
  environment["LINKGAIN_NCCL"] = at("here");
  EXPECT_THAT(files(environment), ElementsAre(LibraryFile{file, "LINKGAIN_NCCL"})) << "a folder";
  environment["LINKGAIN_NCCL"] = at("here/lib");
  EXPECT_THAT(files(environment), ElementsAre(LibraryFile{file, "LINKGAIN_NCCL"})) << "its own";
}

TEST_F(LibrarySearch, HomeComesFirstThenTheLoaderThenWheels) {
  const std::string wheel =
      put("usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string home = put("home/lib/x86_64-linux-gnu/libnccl.so.2");
  EXPECT_THAT(files({{"NCCL_HOME", at("home")}}),
              ElementsAre(LibraryFile{home, "NCCL_HOME"}, LibraryFile{"libnccl.so.2", "loader"},
                          LibraryFile{wheel, "Python wheel"}));
}

TEST_F(LibrarySearch, WheelsOfAnActiveEnvironmentComeFirst) {
  const std::string end = "/nvidia/nccl/lib/libnccl.so.2";
  const std::string active = put("venv/lib/python3.11/site-packages" + end);
  const std::string conda = put("conda/lib/python3.13/site-packages" + end);
  const std::string users = put("me/.local/lib/python3.11/site-packages" + end);
  const std::string systems = put("usr/lib/python3/dist-packages" + end);
  EXPECT_THAT(
      wheels({{"VIRTUAL_ENV", at("venv")}, {"CONDA_PREFIX", at("conda")}, {"HOME", at("me")}}),
      ElementsAre(active, conda, users, systems));
}

TEST_F(LibrarySearch, WheelsOfThePythonOnPathAreFoundWithoutItsEnvironment) {
  const std::string file = put("tools/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string python = put("tools/bin/python3");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EXPECT_THAT(wheels({{"PATH", at("tools/bin")}}), ElementsAre(file));
}

TEST_F(LibrarySearch, WheelsBesideTheProgramAreFoundWithoutItsEnvironment) {
  const std::string end = "/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
  const std::string beside = put("own" + end);
  const std::string active = put("venv" + end);
  const std::string exe = put("proc/self/exe");
  std::filesystem::remove(exe);
  std::filesystem::create_symlink(put("own/bin/linkgain-bench"), exe);
  EXPECT_THAT(wheels({}), ElementsAre(beside));
  EXPECT_THAT(wheels({{"VIRTUAL_ENV", at("venv")}}), ElementsAre(active, beside));
}

TEST_F(LibrarySearch, WheelsOfTheLatestPythonComeFirst) {
  const std::string start = "venv/lib/python3.";
  const std::string end = "/site-packages/nvidia/nccl/lib/libnccl.so.2";
  const std::string older = put(start + "9" + end);
  const std::string latest = put(start + "12" + end);
  const std::string later = put(start + "10" + end);
  EXPECT_THAT(wheels({{"VIRTUAL_ENV", at("venv")}}), ElementsAre(latest, later, older));
}

TEST_F(LibrarySearch, WheelsOfOtherLibrariesAreNone) {
  put("venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.3");
  put("venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libnccl.so.2");
  EXPECT_THAT(wheels({{"VIRTUAL_ENV", at("venv")}}), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
