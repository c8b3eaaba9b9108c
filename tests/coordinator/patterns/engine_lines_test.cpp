#include "linkgain/patterns/engine_lines.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "support/golden.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

TEST(EngineLines, AreReadAsEnginesWriteThem) {
  const ScratchFolder folder;
  const std::filesystem::path recorded = std::filesystem::path(GOLDEN_FOLDER) / "engine_log.txt";
  std::string text;
  for (const std::string& choice :
       engine_choices_in({folder.path() / "none", recorded, recorded})) {
    text += choice + "\n";
  }
  expect_golden(text, "engine_choices.txt");
}

TEST(EngineLines, SayAllOfALineWithoutAnEnd) {
  EXPECT_THAT(engine_choice_in("[AR] All-reduce call path: NCCL (custom AR disabled)\r"),
              testing::EndsWith(" disabled)"));
}

TEST(EngineLines, OthersSayNothing) {
  for (const char* line : {"", "all-reduce backends", "Using the cache", "nccl==2.28.9"}) {
    EXPECT_EQ(engine_choice_in(line), "") << line;
  }
}

}  // namespace
}  // namespace linkgain::test
