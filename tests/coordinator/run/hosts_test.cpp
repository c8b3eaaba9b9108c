#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/base/errors.hpp"
#include "linkgain/run/site.hpp"
#include "support/process_support.hpp"

namespace linkgain {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_hostfile(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Hostfile, CountsHostsAndTheSlotsThatAllState) {
  EXPECT_EQ(parse_hostfile("node1\n"), (Hosts{1, std::nullopt}));
  EXPECT_EQ(parse_hostfile("node1 slots=4\nnode2 slots=2 max_slots=8"), (Hosts{2, 6}));
  EXPECT_EQ(parse_hostfile("node1 slots=4\nnode2\n"), (Hosts{2, std::nullopt}));
  EXPECT_EQ(parse_hostfile("# ours\n\n  10.0.0.1  slots=1 # old\n10.0.0.2\tslots=1\r\n"),
            (Hosts{2, 2}));
  EXPECT_EQ(parse_hostfile("node1 slots=2\nnode1 slots=2\n"), (Hosts{1, 4}));
  EXPECT_EQ(parse_hostfile("node1\nnode1\nnode2\n"), (Hosts{2, 3})) << "a slot for each line";
}

TEST(Hostfile, WithoutAHostIsRefused) {
  for (const char* text : {"", "\n", "# node1\n"}) {
    EXPECT_THAT(refusal(text), HasSubstr("no host in it")) << text;
  }
}

TEST(Hostfile, NamesTheLineThatIsNone) {
  EXPECT_THAT(refusal("node1\nslots=4\n"), HasSubstr("line 2 starts with 'slots=4'"));
  for (const char* slots : {"slots=", "slots=0", "slots=-1", "slots=two", "slots=4x"}) {
    EXPECT_THAT(refusal("node1 " + std::string(slots)), HasSubstr(slots));
  }
}

TEST(Hostfile, ThatCannotBeReadIsRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(read_hostfile(folder.path() / "none"), UsageError);
  EXPECT_THROW(read_hostfile(folder.path()), UsageError) << "a folder";
  std::ofstream(folder.path() / "hosts") << "node1 slots=8\n";
  EXPECT_EQ(read_hostfile(folder.path() / "hosts"), (Hosts{1, 8}));
}

TEST(SlurmAllocation, IsWhatSlurmsVariablesSay) {
  EXPECT_EQ(slurm_allocation({{"SLURM_NTASKS", "4"}}), std::nullopt) << "no job";
  EXPECT_EQ(slurm_allocation({{"SLURM_JOB_ID", "7"}}), (Hosts{1, std::nullopt}));
  const Environment two{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "2"}};
  EXPECT_EQ(slurm_allocation(two), (Hosts{2, std::nullopt}));
  Environment with_tasks = two;
  with_tasks["SLURM_NTASKS"] = "16";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, 16}));
  with_tasks["SLURM_NTASKS"] = "1";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, std::nullopt})) << "the script's own";
}

}  // namespace
}  // namespace linkgain
