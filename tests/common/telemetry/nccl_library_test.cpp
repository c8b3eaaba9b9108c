#include "linkgain/telemetry/nccl_library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

TEST(NcclVersion, IsReadFromTheFileWhereverItStands) {
  const test::TemporaryFolder folder;
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

/// Folders as wheels, packages and builds have them, each with a library of the version.
class Libraries : public ::testing::Test {
 protected:
  fs::path make(const std::string& file, const std::string& version) const {
    const fs::path path = fs::canonical(folder_.path()) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "NCCL version " << version << "\n";
    return path;
  }
  fs::path link(const std::string& name, const fs::path& target) const {
    const fs::path path = fs::canonical(folder_.path()) / name;
    fs::create_directories(path.parent_path());
    fs::create_symlink(target, path);
    return path;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Libraries, AreFoundByFileFolderAndWheel) {
  const fs::path wheel = make("wheel/nvidia/nccl/lib/libnccl.so.2", "2.27.5+cuda12.9");
  EXPECT_EQ(find_nccl_library(folder_.path() / "wheel"), wheel);
  EXPECT_EQ(find_nccl_library(folder_.path() / "wheel/nvidia"), wheel);
  EXPECT_EQ(find_nccl_library(folder_.path() / "wheel/nvidia/nccl"), wheel);
  EXPECT_EQ(find_nccl_library(wheel.parent_path()), wheel);
  EXPECT_EQ(find_nccl_library(wheel), wheel);
  const fs::path built = make("built/lib/libnccl.so.2.28.9", "2.28.9+cuda13.0");
  link("built/lib/libnccl.so.2", "libnccl.so.2.28.9");
  link("built/lib/libnccl.so", "libnccl.so.2");
  EXPECT_EQ(find_nccl_library(folder_.path() / "built"), built);
  EXPECT_EQ(find_nccl_library(built), built);
  EXPECT_EQ(find_nccl_library(folder_.path() / "built/lib/libnccl.so"), built);
  // By a link elsewhere to the file itself.
  EXPECT_EQ(find_nccl_library(link("else/libnccl.so", built)), built);
}

TEST_F(Libraries, ComeFirstOnThePathAndDecideBuiltInVariables) {
  const fs::path old = make("old/libnccl.so.2", "2.27.5+cuda12.9");
  const fs::path now = make("new/libnccl.so.2", "2.28.9+cuda13.0");
  const VariantContext context{BackendKind::nccl, "2.28.9", false, "/opt/lib"};
  const Variant host = resolve_variant("old-host:host,nccl=" + old.string(), context);
  EXPECT_EQ(host.nccl, old);
  EXPECT_EQ(host.environment,
            (Environment{{"LD_LIBRARY_PATH", old.parent_path().string() + ":/opt/lib"},
                         {"NCCL_NVLS_ENABLE", "0"},
                         {"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_EQ(resolve_variant("host:nccl=" + now.string(), {BackendKind::nccl, "2.27.5"}).environment,
            (Environment{{"LD_LIBRARY_PATH", now.parent_path().string()},
                         {"NCCL_NVLS_ENABLE", "0"},
                         {"NCCL_P2P_DISABLE", "1"},
                         {"NCCL_WIN_ENABLE", "0"}}));
  const Variant mine =
      resolve_variant("x:LD_LIBRARY_PATH=/mine,NCCL_ALGO=Ring,nccl=" + now.string(), context);
  EXPECT_EQ(mine.environment.at("LD_LIBRARY_PATH"), now.parent_path().string() + ":/mine");
  EXPECT_EQ(resolve_variant("host", context), parse_variant("host", context));
}

TEST_F(Libraries, WorkersAreFoundByFileAndFolder) {
  const fs::path worker = make("build/bin/linkgain-bench", "");
  fs::permissions(worker, fs::perms::owner_all);
  const VariantContext context{BackendKind::mpi, ""};
  EXPECT_EQ(resolve_variant("x:worker=" + worker.string(), context).worker, worker);
  EXPECT_EQ(resolve_variant("tcp:worker=" + folder_.path().string() + "/build", context).worker,
            fs::absolute(folder_.path()) / "build/bin/linkgain-bench");
}

TEST_F(Libraries, RefusesWhatNoProgramWouldFind) {
  test::Situations answers;
  const auto nccl = [](const std::string& text) {
    return resolve_variant(text, {BackendKind::nccl, "2.28.9"});
  };
  answers.refuse_each({"x:nccl=/no/such/libnccl.so.2", "x:nccl=/dev",
                       "x:nccl=", "x:worker=/no/such/linkgain-bench", "x:worker=/dev/null"},
                      nccl);
  answers.refuse("x:nccl=/dev/null", [&] { nccl("x:nccl=/dev/null"); });
  answers.refuse("for MPI", [] { resolve_variant("x:nccl=/usr/lib", {BackendKind::mpi, ""}); });
  const fs::path other = make("libnccl.so.2.28.9", "2.28.9");
  EXPECT_THROW(find_nccl_library(other), UsageError);
  answers.expect_golden("nccl_library.txt");
}

}  // namespace
}  // namespace linkgain
