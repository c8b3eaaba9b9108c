#include "linkgain/delivery/proof_notes.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "linkgain/telemetry/host.hpp"
#include "support/golden.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

class ProofNotesOnDisk : public testing::Test {
 protected:
  /// Has a process begin a step and end at once, as kill -9 ends it.
  void leave_step(const std::string& step) const {
    const pid_t child = ::fork();
    if (child == 0) {
      ProofNotes notes(environment_);
      notes.begin(step);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }

  std::filesystem::path state() const { return folder_.path() / "linkgain" / host_name(); }

  ScratchFolder folder_;
  Environment environment_{{"XDG_STATE_HOME", folder_.path().string()}};
};

TEST_F(ProofNotesOnDisk, AStepIsOnDiskFromItsBeginToTheEndOfTheProof) {
  {
    ProofNotes notes(environment_);
    notes.begin("step stores between GPU0 and GPU1");
    notes.begin("step loads between GPU0 and GPU1");
    EXPECT_EQ(notes.left(), "") << "that proof still runs";
    EXPECT_FALSE(std::filesystem::is_empty(state()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(state()));
}

TEST_F(ProofNotesOnDisk, AKilledProofThatNobodyReapedIsOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    ProofNotes notes(environment_);
    notes.begin("step loads between GPU0 and GPU1");
    ::_exit(0);
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(ProofNotes(environment_).left(), HasSubstr("step loads"));
  ::waitpid(child, nullptr, 0);
}

TEST_F(ProofNotesOnDisk, WhatAKilledProofLeftIsNamedUntilOneEnds) {
  leave_step("step kernels between GPU0 and GPU1");
  const ProofNotes notes(environment_);
  EXPECT_THAT(notes.left(), HasSubstr("step kernels"));
  notes.forget_left();
  EXPECT_EQ(notes.left(), "");
}

TEST_F(ProofNotesOnDisk, ProofsOfOtherHostsAndContainersAreNotTakenForEnded) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::erase(boot, '-');
  std::string space = std::filesystem::read_symlink("/proc/self/ns/pid").string();
  std::erase_if(space, [](char c) { return c < '0' || c > '9'; });
  const std::filesystem::path container = state() / ("proving-" + boot + "-7-1999999999");
  const std::filesystem::path first = state() / ("proving-" + boot + "-" + space + "-1");
  const std::filesystem::path host = state().parent_path() / "other-host" / "proving-0123abcd-7-1";
  for (const std::filesystem::path& note : {container, first, host}) {
    std::filesystem::create_directories(note.parent_path());
    std::ofstream(note) << "step load between GPU0 and GPU1 at then\n";
  }
  const ProofNotes notes(environment_);
  EXPECT_EQ(notes.left(), "");
  notes.forget_left();
  EXPECT_TRUE(std::filesystem::exists(container) && std::filesystem::exists(first) &&
              std::filesystem::exists(host));
}

TEST_F(ProofNotesOnDisk, ANoteOfAnotherBootSaysThatTheMachineHasStartedAgain) {
  std::filesystem::create_directories(state());
  std::ofstream(state() / "proving-0123abcd-7-1") << "step load between GPU0 and GPU1 at then\n";
  std::ofstream(state() / "proving-0123abcd-7-2");
  std::ofstream(state() / "proving-no-process") << "is no note\n";
  expect_golden(ProofNotes(environment_).left() + "\n", "machine_started_again.txt");
}

TEST_F(ProofNotesOnDisk, WhatIsNotOnDiskIsToldWithThePlace) {
  const std::map<std::string, Environment> places{
      {"HOME", {}},
      {"/proc/.local/state/linkgain/" + host_name(), {{"HOME", "/proc"}}},
      {"/dev/null/linkgain/" + host_name(), {{"XDG_STATE_HOME", "/dev/null"}}}};
  for (const auto& [place, environment] : places) {
    ProofNotes notes(environment);
    EXPECT_THAT(notes.begin("step stores"), HasSubstr(place));
    EXPECT_EQ(notes.left(), "");
  }
}

TEST_F(ProofNotesOnDisk, InMemoryIsNotOnDisk) {
  const std::filesystem::path memory = "/dev/shm/linkgain-test-" + std::to_string(::getpid());
  EXPECT_THAT(ProofNotes({{"XDG_STATE_HOME", memory.string()}}).begin("step stores"),
              HasSubstr("in memory"));
  std::filesystem::remove_all(memory);
}

TEST_F(ProofNotesOnDisk, AFullDiskIsToldAndLeavesNoNoteOfAnotherStep) {
  ProofNotes notes(environment_);
  notes.begin("step stores between GPU0 and GPU1");
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{0, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  const std::string told = notes.begin("step loads between GPU0 and GPU1");
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(told, HasSubstr(state().string()));
  EXPECT_TRUE(std::filesystem::is_empty(state()));
  notes.begin("step flags between GPU0 and GPU1");
  EXPECT_FALSE(std::filesystem::is_empty(state())) << "there is room again";
}

}  // namespace
}  // namespace linkgain::test
