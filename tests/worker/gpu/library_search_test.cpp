#include "library_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/program.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kName = "libnccl.so.2";

/// Folders that a test fills with empty files.
class LibrarySearch : public testing::Test {
 protected:
  std::string put(const std::string& path) const {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "";
    return file.string();
  }
  std::string at(const std::string& path) const { return (folder_.path() / path).string(); }
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
