#include "linkgain/process/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "linkgain/base/errors.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

TEST(TemporaryFolder, IsMadeAndRemovedWithWhatIsInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    ASSERT_TRUE(std::filesystem::is_directory(path));
    EXPECT_NE(TemporaryFolder().path(), path);
    std::filesystem::create_directories(path / "0-1" / "ompi.node.0");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  for (const char* place : {"/proc", "/nowhere/at/all"}) {
    const ScopedEnvironment nowhere("TMPDIR", place);
    EXPECT_THROW(TemporaryFolder(), UsageError) << place;
  }
}

}  // namespace
}  // namespace linkgain::test
