#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/hardware/nccl_environment.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

TEST(NcclIn, LooksWhereInstallationsAndWheelsHaveIt) {
  const ScratchFolder folder;
  EXPECT_EQ(nccl_in(folder.path()), folder.path() / kNcclFile) << "where it would be";
  for (const char* place : {"nvidia/nccl/lib", "nccl/lib", "lib64", "lib", ""}) {
    std::filesystem::create_directories(folder.path() / place);
    std::ofstream(folder.path() / place / kNcclFile) << "x";
    EXPECT_EQ(nccl_in(folder.path()), folder.path() / place / kNcclFile);
  }
}

TEST(NcclBuild, IsReadFromTheFileWhereverItStands) {
  const ScratchFolder folder;
  const auto file = folder.path() / kNcclFile;
  const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
  // Across two reads of a mebibyte.
  write(std::string((1 << 20) - 10, 'x') + "NCCL version 2.28.9+cuda13.0\nNCCL version 9 compiled");
  EXPECT_EQ(nccl_build_of(file), "2.28.9+cuda13.0");
  write("NCCL version mismatch NCCL version 2.4.8 compiled ... NCCL version 2.4.8+cuda10.1");
  EXPECT_EQ(nccl_build_of(file), "2.4.8+cuda10.1");
  write("NCCL version mismatch");
  EXPECT_EQ(nccl_build_of(file), "");
  EXPECT_EQ(nccl_build_of(folder.path() / "none"), "");
}

}  // namespace
}  // namespace linkgain::test
