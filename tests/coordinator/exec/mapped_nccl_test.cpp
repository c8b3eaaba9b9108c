#include "mapped_nccl.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/process_support.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

TEST(NcclInMaps, FindsTheLibraryAndNoPlugin) {
  const std::string line = "7f00-7f01 r-xp 00000000 08:01 42                 ";
  EXPECT_EQ(nccl_in_maps(line + "/a b/nccl/lib/libnccl.so.2\n")->path,
            "/a b/nccl/lib/libnccl.so.2");
  EXPECT_EQ(nccl_in_maps(line + "/w/libnccl-0a1b2c3d.so.2.28\n")->path,
            "/w/libnccl-0a1b2c3d.so.2.28");
  const auto deleted = nccl_in_maps(line + "/lib/libnccl.so.2.28.9 (deleted)\n");
  EXPECT_EQ(deleted->path, "/lib/libnccl.so.2.28.9");
  EXPECT_TRUE(deleted->deleted);
  EXPECT_FALSE(nccl_in_maps(line + "/lib/libnccl-net.so\n" + line + "/lib/libncclx.so\n" + line +
                            "[heap]\n" + line));
}

TEST(NcclVersion, IsReadFromTheFileWhereverItStands) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "libnccl.so.2";
  const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
  // Across two reads of a mebibyte.
  write(std::string((1 << 20) - 10, 'x') + "NCCL version 2.28.9+cuda13.0\nNCCL version 9 compiled");
  EXPECT_EQ(nccl_version_of(file), "2.28.9+cuda13.0");
  write("NCCL version mismatch NCCL version 2.4.8 compiled ... NCCL version 2.4.8+cuda10.1");
  EXPECT_EQ(nccl_version_of(file), "2.4.8+cuda10.1");
  write("NCCL version mismatch");
  EXPECT_EQ(nccl_version_of(file), "");
  EXPECT_EQ(nccl_version_of(folder.path() / "none"), "");
}

}  // namespace
}  // namespace linkgain::test
