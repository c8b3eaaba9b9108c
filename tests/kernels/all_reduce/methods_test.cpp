#include "kernels/all_reduce/methods.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

namespace linkgain::kernels {
namespace {

std::string blocks_of(bool is_chosen, int bytes) {
  if (!is_chosen) return "";
  return bytes > 0 ? fmt::format("{} B", bytes) : "fixed";
}

/// Writes a method's line in README.md's table.
std::string row_of(const AllReduceTraits& m) {
  return fmt::format("| `{}` | {} | {}, {} | {} | {} | {} | {} | {} |", m.name, m.form, m.algorithm,
                     m.protocol, m.sent, m.waits, blocks_of(m.has(kByP2p), m.p2p_block_bytes),
                     blocks_of(m.has(kThroughHost), m.host_block_bytes),
                     m.has(kFloat32Only) ? "float32" : "");
}

TEST(AllReduceMethods, StandInTheReadmeAsInTheTable) {
  std::ifstream readme(LINKGAIN_SOURCE_DIR "/kernels/all_reduce/README.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  std::vector<std::string> expected;
  for (const AllReduceTraits& method : kAllReduceMethods) expected.push_back(row_of(method));
  EXPECT_EQ(rows, expected);
}

TEST(AllReduceMethods, AreInTheOrderOfTheEnumeration) {
  for (const AllReduceTraits& method : kAllReduceMethods) {
    EXPECT_EQ(traits_of(method.method).method, method.method) << method.name;
  }
}

}  // namespace
}  // namespace linkgain::kernels
