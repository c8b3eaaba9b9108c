#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "programs.hpp"

/// The library that no-p2p preloads, before a driver that is a double.
namespace linkgain::test {
namespace {

constexpr const char* kAllowed =
    "can access 0 1\n"
    "attributes of the pair 7 1 1 1 1\n"
    "attribute 132 0 1\n"
    "attribute 75 0 75\n"
    "enable 0\n"
    "own, both, closed, host 0 0 0 0\n"
    "the host's, unknown 0 0\n"
    "ranges: own, with the peer's, the peer's and the host's, the host's 0 0 0 0 0 0\n"
    "pool: own, both, closed, the host's 0 0 0 0\n"
    "ipc 0 0\n"
    "import 11 0 11\n"
    "import 20 0 20\n"
    "pool 11 0 1 0\n"
    "pool 20 0 1 0\n"
    "held 4\n"
    "copy 0\n"
    "nvml 0 0\n"
    "nvml 0 0\n";

constexpr const char* kRefused =
    "can access 0 0\n"
    "attributes of the pair 7 0 0 0 0\n"
    "attribute 132 0 0\n"
    "attribute 75 0 75\n"
    "enable 217\n"
    "own, both, closed, host 0 801 0 0\n"
    "the host's, unknown 0 0\n"
    "ranges: own, with the peer's, the peer's and the host's, the host's 0 801 801 801 0 0\n"
    "pool: own, both, closed, the host's 0 801 0 0\n"
    "ipc 217 217\n"
    "import 11 801 0\n"
    "import 20 0 20\n"
    "pool 11 801 0 801\n"
    "pool 20 0 1 0\n"
    "held 2\n"
    "copy 0\n"
    "nvml 0 0\n"
    "nvml 0 5\n";

const std::set<std::string> kFunctions{"cuDeviceCanAccessPeer",
                                       "cuDeviceGetP2PAttribute",
                                       "cuDeviceGetAttribute",
                                       "cuCtxEnablePeerAccess",
                                       "cuMemSetAccess",
                                       "cuMemPoolSetAccess",
                                       "cuIpcOpenMemHandle",
                                       "cuIpcOpenMemHandle_v2",
                                       "cuMemImportFromShareableHandle",
                                       "cuMemPoolImportFromShareableHandle",
                                       "cuMemPoolImportPointer",
                                       "nvmlDeviceGetP2PStatus"};

class NoP2p : public testing::Test {
 protected:
  ProgramRequest request(bool is_linked, const Words& arguments, bool refuse) {
    ProgramRequest made{
        .arguments = joined({is_linked ? PEER_PROGRAM_LINKED : PEER_PROGRAM}, arguments),
        .environment = {},
        .directory = folder_.path()};
    made.environment["LD_LIBRARY_PATH"] = DRIVER_FOLDER;
    made.environment["LINKGAIN_NO_P2P_LOG"] = (folder_ / "refused").string();
    if (refuse) made.environment["LD_PRELOAD"] = NO_P2P;
    return made;
  }

  std::string ask(bool is_linked, const char* way, bool refuse) {
    const Outcome outcome = run_program(request(is_linked, {way}, refuse));
    EXPECT_EQ(outcome.status, 0) << way << outcome.error;
    EXPECT_EQ(outcome.error, "") << way;
    return outcome.output;
  }

  /// Reads what the library's log says behind its first line; each line must be there once.
  std::set<std::string> refused() {
    std::set<std::string> names;
    for (const std::string& each : lines_of(read_text(folder_ / "refused"))) {
      EXPECT_TRUE(names.insert(each).second) << each;
    }
    EXPECT_EQ(names.erase("loaded"), 1U);
    return names;
  }

  ScratchFolder folder_;
};

/// A way to find functions, and what the program says besides.
struct Way {
  bool is_linked;
  const char* name;
  const char* also = "";
};

constexpr Way kWays[]{{true, "linked", "depth 2\n"},
                      {true, "default", "depth 2\n"},
                      {true, "next", "depth 2\n"},
                      {true, "v2", "depth 2\n"},
                      {false, "handle", "by the program 0 0\n"},
                      {false, "version"},
                      {false, "reopened"},
                      {false, "dlsym-of-dlsym"},
                      {false, "dlsym-of-dlsym-by-default"},
                      {false, "dlsym-of-dlsym-by-next"},
                      {false, "dlsym-of-dlvsym"},
                      {false, "dlsym-of-dlvsym-by-default"},
                      {false, "dlsym-of-dlvsym-by-next"},
                      {false, "dlsym-of-dlvsym-of-dlsym"},
                      {false, "dlsym-of-dlvsym-of-dlsym-by-default"},
                      {false, "dlsym-of-dlvsym-of-dlsym-by-next"},
                      {false, "v1"},
                      {false, "v2"},
                      {false, "v1-of-v1"},
                      {false, "v2-of-v2"}};

TEST_F(NoP2p, ChangesNothingInAProgramThatDoesNotLoadIt) {
  for (const Way& way : kWays) {
    EXPECT_EQ(ask(way.is_linked, way.name, false), std::string(kAllowed) + way.also) << way.name;
  }
}

TEST_F(NoP2p, RefusesPeerAccessHoweverAProgramFindsTheDriversFunctions) {
  for (const Way& way : kWays) {
    std::filesystem::remove(folder_ / "refused");
    std::string also = way.also;
    if (also.starts_with("by the program")) also = "by the program 1 0\n";  // it stands before all
    EXPECT_EQ(ask(way.is_linked, way.name, true), kRefused + also) << way.name;
    EXPECT_EQ(refused(), kFunctions) << way.name;
  }
}

TEST_F(NoP2p, StandsBeforeLibrariesThatStandBeforeTheSameFunctions) {
  ProgramRequest made = request(false, {"dlsym-of-dlvsym"}, true);
  made.environment["LD_PRELOAD"] = NO_P2P ":" DLVSYM_HOOK;
  const Outcome outcome = run_program(made);
  EXPECT_EQ(outcome.output, kRefused) << outcome.error;
}

TEST_F(NoP2p, NotesEachRefusalOnceOfAllThreadsAndProcesses) {
  const Outcome outcome = run_program(request(false, {"handle", "threads"}, true));
  EXPECT_EQ(outcome.output, std::string(kRefused) + "by the program 1 0\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(refused(), kFunctions);
}

TEST_F(NoP2p, NeedsNoVersionOfTheCLibraryAboveThatOfTheManual) {
  const Outcome needs = run_program({.arguments = {"objdump", "-p", NO_P2P}});
  int versions = 0;
  for (const std::string& each : lines_of(needs.output)) {
    const std::size_t name = each.find(" GLIBC_");
    if (name == std::string::npos) continue;
    ++versions;
    int major = 0;
    int minor = 0;
    EXPECT_EQ(std::sscanf(each.c_str() + name, " GLIBC_%d.%d", &major, &minor), 2) << each;
    EXPECT_LE(std::pair(major, minor), std::pair(2, 17)) << each;
  }
  EXPECT_GT(versions, 0) << needs.output << needs.error;
}

/// Scripts and helpers load it, too.
TEST_F(NoP2p, LeavesAProgramAloneThatHasNoDriver) {
  ProgramRequest made = request(false, {}, true);
  made.arguments = {"python3", "-c",
                    "import ctypes, subprocess\n"
                    "own = ctypes.CDLL(None)\n"
                    "print(own.getpid() > 0, subprocess.call(['true']))"};
  const Outcome outcome = run_program(made);
  EXPECT_EQ(outcome.output + outcome.error, "True 0\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

}  // namespace
}  // namespace linkgain::test
