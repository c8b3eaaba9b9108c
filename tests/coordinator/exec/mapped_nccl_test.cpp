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

}  // namespace
}  // namespace linkgain::test
