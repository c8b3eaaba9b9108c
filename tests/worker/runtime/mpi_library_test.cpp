#include "linkgain/runtime/mpi_library.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "linkgain/base/errors.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MpiFiles, BeginWithThatOfTheMpirunOnPath) {
  const ScratchFolder folder;
  const Environment environment{{"PATH", (folder / "bin").string()}};
  EXPECT_THAT(mpi_files(environment), ElementsAre("libmpi.so.40"));
  for (const char* name : {"bin", "lib64"}) std::filesystem::create_directory(folder / name);
  write_executable(folder / "bin/mpirun", "");
  EXPECT_THAT(mpi_files(environment), ElementsAre("libmpi.so.40"));
  std::ofstream(folder / "lib64/libmpi.so.40").flush();
  EXPECT_THAT(mpi_files(environment),
              ElementsAre((folder / "lib64/libmpi.so.40").string(), "libmpi.so.40"));
}

TEST(MpiLibrary, IsNotWhatLacksItsFunctions) {
  for (const char* name : {"libm.so.6", "no-such-library.so"}) {
    try {
      const MpiLibrary library({name});
      ADD_FAILURE() << name;
    } catch (const MachineError& error) {
      EXPECT_THAT(error.what(), HasSubstr("need Open MPI"));
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace linkgain::test
