#include "linkgain/telemetry/host.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/program.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

class FindProgram : public ::testing::Test {
 protected:
  fs::path put(const std::string& name, fs::perms permissions) const {
    const fs::path file = folder_.path() / name;
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, permissions);
    return file;
  }

  Environment path_of(const std::string& before) const {
    return {{"PATH", before + folder_.path().string()}};
  }

  test::ScratchFolder folder_;
};

TEST_F(FindProgram, FindsAnExecutableFileOnly) {
  const fs::path runs = put("runs", fs::perms::owner_all);
  put("text", fs::perms::owner_read);
  fs::create_directory(folder_.path() / "folder");
  const Environment environment = path_of("/no/such/folder:");
  EXPECT_EQ(find_program("runs", environment), runs);
  EXPECT_EQ(find_program("text", environment), std::nullopt);
  EXPECT_EQ(find_program("folder", environment), std::nullopt);
  EXPECT_EQ(find_program("sh", environment), std::nullopt);
}

TEST_F(FindProgram, LooksWhereTheSystemsAreWithoutAPath) {
  EXPECT_EQ(find_program("sh", {}), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", {}), std::nullopt);
}

}  // namespace
}  // namespace linkgain
