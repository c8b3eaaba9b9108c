#include <gmock/gmock.h>

#include "exec_program.hpp"

/// `linkgain exec --variant no-p2p` of a program that asks the driver's double for peer access.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class ExecWithoutP2p : public ExecProgram {
 protected:
  /// Has `program` ask the driver's double for peer access, and moves data over NVLink where the
  /// condition holds.
  Outcome run_without_p2p(const std::string& program, const std::string& condition) {
    ProgramRequest made =
        request({"--variant", "p2p", "--variant", "no-p2p"},
                {"sh", "-c",
                 program + " v2; [ " + condition +
                     " ] && printf '0 2000000000\\n1 2000000000\\n' >> traffic; true"});
    made = on_machine("h200x2", made);
    made.environment["LINKGAIN_NVML_TRAFFIC"] = (folder_ / "traffic").string();
    made.environment["LD_LIBRARY_PATH"] = DRIVER_FOLDER;
    return run_program(made);
  }
};

TEST_F(ExecWithoutP2p, RefusesPeerAccessToAProgramOfAnyKind) {
  const Outcome outcome = with_status(0, run_without_p2p(PEER_PROGRAM, "{variant} = p2p"));
  EXPECT_THAT(log("p2p-1"), HasSubstr("can access 0 1\n"));
  EXPECT_THAT(log("no-p2p-1"), HasSubstr("can access 0 0\n"));
  EXPECT_THAT(log("no-p2p-1"), Not(HasSubstr("ld.so")));
  EXPECT_THAT(outcome.output, HasSubstr("\n  NVLink "));
  for (const Json& each : record().at("runs")) {
    const Json& evidence = each.at("evidence");
    EXPECT_EQ(evidence.contains("refused"), each.at("variant") == "no-p2p");
    if (!evidence.contains("refused")) continue;
    EXPECT_THAT(evidence.at("refused").get<Words>(),
                testing::IsSupersetOf({"cuCtxEnablePeerAccess", "nvmlDeviceGetP2PStatus"}));
  }
}

TEST_F(ExecWithoutP2p, IsBypassedWhereBytesGoOverNvlinkNevertheless) {
  const Outcome asked = with_status(5, run_without_p2p(PEER_PROGRAM, "1 = 1"));
  EXPECT_THAT(result("report.md"), HasSubstr("no-p2p: LD_PRELOAD=liblinkgain"));
  EXPECT_THAT(result("report.md"), HasSubstr("refused cuCtxEnable"));
  const Outcome silent = with_status(5, run_without_p2p(":", "1 = 1"));
  EXPECT_THAT(result("report.md"), HasSubstr("was not read"));
}

/// Runs the manual's command of a container, with a stand-in for docker that gives the program what
/// the command names and nothing else.
TEST_F(ExecWithoutP2p, ReachesAContainerByTheCommandOfTheManual) {
  std::filesystem::create_directory(folder_ / "bin");
  write_script("bin/docker",
               "#!/bin/bash\n"
               "given=(PATH=\"$PATH\" LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\") mounted=:\n"
               "while [ \"$1\" != IMAGE ]; do\n"
               "  case $1 in\n"
               "    -e) given+=(\"$2=${!2}\"); shift;;\n"
               "    -v) mounted+=${2%%:*}:; shift;;\n"
               "  esac\n"
               "  shift\n"
               "done\n"
               "case $mounted in *:\"${LINKGAIN_NO_P2P_LOG%/runs/*}\":*) ;;\n"
               "  *) given+=(LINKGAIN_NO_P2P_LOG=/nonexistent);;\n"
               "esac\n"
               "exec env -i \"${given[@]}\" \"${@:2}\"\n");
  const std::string manual = read_text(MANUAL);
  const std::size_t begin = manual.find("linkgain exec --out", manual.find("### no-p2p"));
  const std::string shown = manual.substr(begin, manual.find("```", begin) - begin);
  const std::size_t program = shown.find("python train.py");
  ASSERT_NE(program, shown.npos) << shown;
  ProgramRequest made = on_machine("rtx4090-p2p", request({}, {}));
  made.arguments = {"sh", "-c", shown.substr(0, program) + PEER_PROGRAM + " v2"};
  made.environment["PATH"] = (folder_ / "bin").string() + ":" +
                             std::filesystem::path(LINKGAIN).parent_path().string() +
                             ":/usr/bin:/bin";
  made.environment["LD_LIBRARY_PATH"] = DRIVER_FOLDER;
  with_status(0, run_program(made));
  EXPECT_THAT(log("no-p2p-1"), HasSubstr("can access 0 0\n"));
  EXPECT_THAT(log("no-p2p-1.refused"), HasSubstr("cuCtxEnablePeerAccess\n"));
  EXPECT_THAT(result("report.md"), Not(HasSubstr("exec-no-change")));
}

/// Tells a library that refused nothing from one whose log did not come.
TEST_F(ExecWithoutP2p, TellsALogThatDidNotComeFromAnEmptyOne) {
  const auto said = [&](const Words& command) {
    ProgramRequest made =
        on_machine("rtx4090-p2p", request({"--variant", "p2p", "--variant", "no-p2p"}, command));
    made.environment["LD_LIBRARY_PATH"] = DRIVER_FOLDER;
    with_status(0, run_program(made));
    return warning("exec-no-change").at("text").get<std::string>();
  };
  EXPECT_THAT(
      said({"python3", "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuGetProcAddress_v2"}),
      HasSubstr("refused no peer"));
  EXPECT_THAT(said({"env", "-u", "LINKGAIN_NO_P2P_LOG", PEER_PROGRAM, "v2"}),
              HasSubstr("was not read"));
  EXPECT_THAT(said({"true"}), HasSubstr("was not read"));
}

TEST_F(ExecWithoutP2p, StandsBeforeWhatIsPreloadedAnyway) {
  const auto preloaded_by = [&](const std::string& variant) {
    ProgramRequest made = request({"--dry-run", "--rounds", "1", "--variant", variant}, {"true"});
    made.environment["LD_PRELOAD"] = "libm.so.6";
    made.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0";
    const std::string text = with_status(0, run_program(made)).output;
    const std::size_t begin = text.find("LD_PRELOAD=");
    return begin == text.npos ? text : text.substr(begin, text.find_first_of(" \n", begin) - begin);
  };
  EXPECT_THAT(preloaded_by("no-p2p"),
              MatchesRegex("LD_PRELOAD=/.*/liblinkgain_no_p2p.so:libm.so.6"));
  EXPECT_THAT(preloaded_by("mine:no-p2p,LD_PRELOAD=libdl.so.2,A=1"),
              MatchesRegex("LD_PRELOAD=/.*/liblinkgain_no_p2p.so:libdl.so.2"));
  EXPECT_THAT(preloaded_by("other:LD_PRELOAD=libdl.so.2"), testing::StrEq("LD_PRELOAD=libdl.so.2"));
}

TEST_F(ExecWithoutP2p, IsRefusedWhereItsLibraryIsNotBesideTheProgram) {
  std::filesystem::create_directory(folder_ / "bin");
  std::filesystem::copy(LINKGAIN, folder_ / "bin/linkgain");
  ProgramRequest made = request({"--variant", "no-p2p"}, {"touch", "begun"});
  made.arguments.front() = (folder_ / "bin/linkgain").string();
  const Outcome outcome = with_status(2, run_program(made));
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("lib/linkgain/liblinkgain_no_p2p.so, which is not"),
                                   HasSubstr("install linkgain whole")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "begun"));
}

}  // namespace
}  // namespace linkgain::test
