#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/diagnostics/survey.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(NcclConf, ReadsLinesAsNcclDoes) {
  const NcclSettings settings = parse_nccl_conf(
      "# of this cluster\n"
      "NCCL_ALGO=Ring\n"
      "\n"
      "no assignment\n"
      "NCCL_IB_HCA=mlx5_0,mlx5_1\n"
      "NCCL_ALGO=Tree\n"
      "NCCL_TOPO_FILE=/a=b\n"
      "NCCL_PROTO=",
      "f");
  EXPECT_THAT(settings.in_force, ElementsAre(NcclSetting{"NCCL_ALGO", "Ring", "f"},
                                             NcclSetting{"NCCL_IB_HCA", "mlx5_0,mlx5_1", "f"},
                                             NcclSetting{"NCCL_TOPO_FILE", "/a=b", "f"},
                                             NcclSetting{"NCCL_PROTO", "", "f"}));
  EXPECT_THAT(settings.faults, IsEmpty());
  EXPECT_THAT(parse_nccl_conf("", "f").in_force, IsEmpty());
}

TEST(NcclConf, BlanksAndCarriageReturnsAreFaults) {
  const NcclSettings settings =
      parse_nccl_conf("NCCL_ALGO = Ring\n NCCL_PROTO=LL\nNCCL_NTHREADS=256\r\nNCCL_DEBUG= INFO\n",
                      "/etc/nccl.conf");
  EXPECT_THAT(settings.in_force, IsEmpty());
  EXPECT_THAT(settings.faults, ElementsAre(HasSubstr("/etc/nccl.conf, line 1"), HasSubstr("line 2"),
                                           HasSubstr("line 3"), HasSubstr("line 4")));
}

TEST(NcclConf, TheEnvironmentGoesBeforeTheUsersFileBeforeTheMachines) {
  const ScratchFolder folder;
  const auto home = folder.path() / "home";
  const auto etc = folder.path() / "etc";
  write(home / ".nccl.conf", "NCCL_ALGO=Tree\nNCCL_PROTO=LL\n");
  write(etc / "nccl.conf", "NCCL_PROTO=Simple\nNCCL_NTHREADS=64\n");
  const NcclSettings settings =
      survey_nccl_settings({{"NCCL_ALGO", "Ring"}, {"PATH", "/bin"}}, home, etc);
  EXPECT_THAT(settings.in_force,
              ElementsAre(NcclSetting{"NCCL_ALGO", "Ring"},
                          NcclSetting{"NCCL_PROTO", "LL", (home / ".nccl.conf").string()},
                          NcclSetting{"NCCL_NTHREADS", "64", (etc / "nccl.conf").string()}));
}

TEST(NcclConf, ANamedFileTakesThePlaceOfTheUsers) {
  const ScratchFolder folder;
  const auto named = folder.path() / "mine.conf";
  write(named, "NCCL_PROTO=LL128\n");
  write(folder.path() / "home/.nccl.conf", "NCCL_ALGO=Tree\n");
  const NcclSettings settings = survey_nccl_settings({{"NCCL_CONF_FILE", named.string()}},
                                                     folder.path() / "home", folder.path());
  ASSERT_EQ(settings.in_force.size(), 2U);
  EXPECT_EQ(settings.in_force[1], (NcclSetting{"NCCL_PROTO", "LL128", named.string()}));
  EXPECT_THAT(settings.faults, IsEmpty());
}

TEST(NcclConf, ANamedFileThatIsNotThereIsAFault) {
  const NcclSettings settings =
      survey_nccl_settings({{"NCCL_CONF_FILE", "/nonexistent/x"}}, "/nonexistent", "/nonexistent");
  EXPECT_THAT(settings.faults, ElementsAre(HasSubstr("/nonexistent/x is no file")));
}

}  // namespace

}  // namespace linkgain::test
