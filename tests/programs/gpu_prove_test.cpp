#include <gmock/gmock.h>

#include <string>

#include "gpu_programs.hpp"
#include "linkgain/hardware/delivery.hpp"

/// The rungs of `linkgain doctor --prove` on real GPUs. On a machine with one, both ranks share it
/// and reach each other's memory by CUDA IPC: what is written, waited for and looked at is the
/// same.
namespace linkgain::test {
namespace {

using Kind = Delivery::Outcome;

/// Returns what two ranks see in a rung, under LINKGAIN_TEST_FAULT.
Outcome climb(const std::string& rung, const std::string& fault, const std::string& gpus) {
  return run_shell("LINKGAIN_TEST_FAULT=" + fault +
                   " NCCL_NVLS_ENABLE=0 timeout 30 mpirun --allow-run-as-root --oversubscribe "
                   "--bind-to none -np 2 " +
                   LINKGAIN_BENCH + " --prove " + rung + gpus);
}

/// Expects that outcome; or, with `or_wrong_data`, that data did not arrive.
void expect_outcome(const Outcome& outcome, Kind kind, const std::string& what,
                    bool or_wrong_data = false) {
  const std::size_t line = outcome.output.find("{\"delivery\"");
  ASSERT_NE(line, std::string::npos) << what << ": " << outcome.output;
  const Reading<Delivery> delivery =
      delivery_in(outcome.output.substr(line, outcome.output.find('\n', line) - line));
  ASSERT_TRUE(delivery.measured()) << what << ": " << outcome.output;
  const bool is_wrong_data = or_wrong_data && delivery.value().outcome == Kind::not_arrived;
  EXPECT_TRUE(delivery.value().outcome == kind || is_wrong_data)
      << what << ": " << delivery.value().seen;
  EXPECT_EQ(delivery.value().seen.empty(), kind == Kind::arrived) << what;
}

void expect_faults_found(const std::string& gpus) {
  for (const std::string rung : {"stores", "copy-engine", "loads", "flags", "kernels", "load"}) {
    const std::string command = rung == "load" ? rung + " --load 1s" : rung;
    expect_outcome(climb(command, "", gpus), Kind::arrived, rung);
    for (const char* rank : {"@0", "@1"}) {
      for (const std::string fault : {"own-window", "drop", "stale"}) {
        const bool sums = rung == "kernels" || rung == "load";
        const bool waits = (rung == "flags" && fault == "drop") || (sums && fault != "stale");
        // A rank may see wrong sums before the other one has waited long enough.
        const bool either = sums && waits && (rung == "load" || fault == "own-window");
        expect_outcome(climb(command, fault + rank, gpus),
                       waits ? Kind::gave_up : Kind::not_arrived, rung + " " + fault + rank,
                       either);
      }
    }
  }
}

TEST(ProveOnOneGpu, TwoRanksFindEveryFault) {
  require_gpus(1);
  if (IsSkipped()) return;
  // A list of one device twice is that device for both.
  expect_faults_found(" --gpus 0,0");
}

TEST(ProveOnOneGpu, ARankThatHangsEndsTheJob) {
  require_gpus(1);
  if (IsSkipped()) return;
  const Outcome outcome = climb("flags", "hang@1", " --gpus 0,0");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.status, 124) << "it ended by itself";
  EXPECT_EQ(outcome.output.find("{\"delivery\""), std::string::npos);
}

class ProveOnGpus : public RunOnGpus {};

TEST_F(ProveOnGpus, FindsEveryFault) { expect_faults_found(" --gpus 0,1"); }

TEST_F(ProveOnGpus, NcclsSumsAreLookedAt) {
  expect_outcome(climb("all-reduce", "", " --gpus 0,1"), Kind::arrived, "all-reduce");
  expect_outcome(climb("all-reduce", "corrupt@1", " --gpus 0,1"), Kind::not_arrived, "corrupt");
  expect_outcome(climb("control", "stale@0", " --gpus 0,1"), Kind::not_arrived, "stale");
}

/// Runs linkgain doctor on the first two GPUs, whose driver grants P2P.
Outcome prove(const std::string& fault) {
  return run_shell("CUDA_VISIBLE_DEVICES=0,1 LINKGAIN_TEST_FAULT=" + fault + " " + LINKGAIN +
                   " doctor --prove --only p2p-delivery --verbose");
}

TEST_F(ProveOnGpus, TheDoctorSaysWhatTheRungsFound) {
  const Outcome works = with_status(0, prove(""));
  EXPECT_THAT(works.output, testing::HasSubstr("works: stores")) << works.output;
  const Outcome lost = with_status(1, prove("own-window@1"));
  EXPECT_THAT(lost.output, testing::HasSubstr("stores of a kernel")) << lost.output;
  const Outcome hangs = with_status(1, prove("hang@1/flags"));
  EXPECT_THAT(hangs.output, testing::HasSubstr("hangs: flags")) << hangs.output;
  const Outcome kernel = with_status(1, prove("stale@0/kernels"));
  EXPECT_THAT(kernel.output, testing::HasSubstr("linkgain's all-reduce kernel")) << kernel.output;
  const Outcome loads = with_status(1, prove("hang@0/loads"));
  EXPECT_THAT(loads.output, testing::HasSubstr("hangs: loads")) << loads.output;
  const Outcome unmapped = with_status(1, prove("unmapped@1/loads"));
  EXPECT_THAT(unmapped.output, testing::HasSubstr("kernel: CUDA")) << unmapped.output;
  const Outcome all_hang = prove("hang@0");
  EXPECT_THAT(all_hang.output, testing::HasSubstr("failed after it")) << "so does the control";
}

}  // namespace
}  // namespace linkgain::test
