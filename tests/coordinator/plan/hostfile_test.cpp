#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/telemetry/host.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

/// Returns the ranks that a file has room for; absent where it is refused.
std::optional<int> slots_of(const std::string& text) {
  try {
    return parse_hostfile(text).slots;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

struct HostfileRow {
  std::string text;
  std::optional<int> slots;  ///< absent: refused
};

/// Names this host alone, so that mpirun can be asked.
const HostfileRow kRows[] = {
    {"localhost slots=3\n", 3},
    {"localhost slots=3", 3},
    {"localhost slots = 3\n", 3},
    {"\nlocalhost\tslots\t=\t3\n\n", 3},
    {"localhost slots=03\n", 3},
    {"localhost cpu=3\n", 3},
    {"localhost count=3\n", 3},
    {"localhost max_slots=3\n", 3},
    {"localhost max-slots=3 slots=2\n", 2},
    {"localhost slots=1 slots_max=2 max-cpu=3 count-max=4\n", 1},
    {"localhost max_slots=4 max_slots=3\n", 3},
    {"localhost\nlocalhost\n127.0.0.1\n", 3},
    {"localhost slots=2\nlocalhost\n", 3},
    {"root@localhost user-name=root port=22 slots=3\n", 3},
    {"/* ours\n */ localhost slots=3 // now\n# then\n", 3},
    {"localhost slots=3# ours\r\n", 3},
    {"localhost slots=3 /* to the end", 3},
    {"localhost SLOTS=3\n", std::nullopt},
    {"localhost slots=3 slots=3\n", std::nullopt},
    {"localhost slots=3\nlocalhost slots=3\n", std::nullopt},
    {"localhost slots=3\n127.0.0.1 slots=3\n", std::nullopt},
    {"localhost\nlocalhost slots=3\n", std::nullopt},
    {"localhost slots=3 max_slots=2\n", std::nullopt},
    {"localhost slots=0\n", std::nullopt},
    {"localhost slots=\n3\n", std::nullopt},
    {"localhost slots 3\n", std::nullopt},
    {"localhost slots=three\n", std::nullopt},
    {"localhost slots=3x\n", std::nullopt},
    {"localhost slots=-3\n", std::nullopt},
    {"localhost slots=\"3\"\n", std::nullopt},
    {"localhost slots=3; # ours\n", std::nullopt},
    {"localhost gpus=3\n", std::nullopt},
    {"localhost slots=3\r\n", std::nullopt},
    {"localhost slots=3 # no line end", std::nullopt},
    {"localhost /* ours */ slots=3\n", std::nullopt},
    {"rank 0=localhost slot=0\n", std::nullopt},
    {"slots=3\n", std::nullopt},
    {"slots slots=3\n", std::nullopt},
    {"localhost:3\n", std::nullopt},
    {"+n0\n", std::nullopt},
};

TEST(Hostfile, IsReadAsMpirunReadsIt) {
  for (const HostfileRow& row : kRows) EXPECT_EQ(slots_of(row.text), row.slots) << row.text;
}

TEST(Hostfile, HasTheRanksThatMpirunStarts) {
  const ScratchFolder folder;
  int rows = 0;
  for (const HostfileRow& row : kRows) {
    if (row.text.starts_with("localhost:")) continue;  // a host that mpirun would look up
    std::ofstream(folder / "hosts") << row.text;
    ProgramRequest request;
    request.arguments = {"mpirun", "--hostfile", "hosts", "--allow-run-as-root", "echo", "a rank"};
    request.directory = folder.path();
    const Outcome outcome = run_program(request);
    const auto ranks = std::ranges::count(lines_of(outcome.output), "a rank");
    EXPECT_EQ(ranks, row.slots.value_or(0)) << row.text << outcome.error;
    EXPECT_EQ(outcome.status == 0, row.slots.has_value()) << row.text;
    ++rows;
  }
  EXPECT_GT(rows, 30);
}

TEST(Hostfile, CountsHosts) {
  EXPECT_EQ(parse_hostfile("node1\n"), (Hosts{1, std::nullopt}));
  EXPECT_EQ(parse_hostfile("node1 slots=4\nnode2 slots=2 max_slots=8"), (Hosts{2, 6}));
  EXPECT_EQ(parse_hostfile("node1 slots=4\nnode2\n"), (Hosts{2, std::nullopt}));
  EXPECT_EQ(parse_hostfile("# ours\n\n  10.0.0.1  slots=1 # old\r\nfe80::7\tslots=1\n"),
            (Hosts{2, 2}));
  EXPECT_EQ(parse_hostfile("node1\nnode1\nnode2\n"), (Hosts{2, 3})) << "a slot for each line";
  EXPECT_EQ(parse_hostfile("node1 slots=0\nnode2 slots=2\n"), (Hosts{1, 2}));
  EXPECT_EQ(parse_hostfile("localhost slots=2\n" + host_name() + "\n"), (Hosts{1, 3}));
}

/// Leaves out the advice, which is the same for all.
std::string refusal(const std::string& text) {
  const std::string said = refusal_of([&] { parse_hostfile(text); });
  return said.substr(0, said.find("\n-> "));
}

TEST(Hostfile, SaysWhatItRefuses) {
  std::string text;
  using namespace std::string_literals;
  for (const std::string& each :
       {""s, "# node1\n"s, "# node1"s, "node1\nslots=4"s, "node1 slots=two"s, "node1 slots"s,
        "node1\nnode2 gpus=4"s, "node1 SLOTS=4"s, "node1 slots=4\n/* a\nb */\nnode1 slots=4"s,
        "node1 slots=4 max_slots=2"s, "node1 slots=0"s, "node1:8"s,
        "node1 slots=2147483647\nnode2 slots=1"s, "node1 slots=2147483648"s, "node1\nnode2\r\n"s,
        "node1\0"s, "node1 slots=1\033[31m"s}) {
    text += "---\n" + visible_lines(each) + "\n" + refusal(each) + "\n";
  }
  expect_golden(text, "refused_hostfiles.txt");
}

TEST(Hostfile, ThatCannotBeReadIsRefused) {
  const ScratchFolder folder;
  EXPECT_THROW(read_hostfile(folder / "none"), UsageError);
  EXPECT_THROW(read_hostfile(folder.path()), UsageError) << "a folder";
  std::ofstream(folder / "hosts") << "node1 slots=8\n";
  EXPECT_EQ(read_hostfile(folder / "hosts"), (Hosts{1, 8}));
}

}  // namespace
}  // namespace linkgain::test
