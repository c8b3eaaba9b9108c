#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace linkgain::test {

/// Compares text with the golden of this name beside the tests. With LINKGAIN_UPDATE_GOLDENS set
/// the file is written instead and the test is skipped: read the difference before it is committed.
inline void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("LINKGAIN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    GTEST_SKIP() << path << " was written";
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.is_open()) << path;
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, golden);
}

}  // namespace linkgain::test
