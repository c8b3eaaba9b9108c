// Run by mpirun: what the check at the end of a training finds, and what it calls it.
#include "linkgain/workloads/training_operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "backends.hpp"
#include "spoilt_communication.hpp"
#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A training of the tiny model, of which one rank's communication can be spoilt.
class TrainingCheck : public RankTest {
 protected:
  /// Collective.
  void open(const std::string& strategy) {
    std::string name = "gpt2_step/fp64/tiny/np" + std::to_string(session->ranks());
    if (!strategy.empty()) name += '/' + strategy;
    operation_ = make_training_operation(*session, backend_, parse_case_name(name),
                                         TrainingPlan{.steps = 10, .tokens = {}}, {});
    operation_->prepare();
    operation_->warm_up();
    faults() = {};
  }

  CommunicationFaults& faults() { return backend_.faults; }
  Verification verify() {
    faults().count_anew();
    return operation_->verify(Spoil::nothing);
  }
  static bool is_last() { return session->rank() == session->ranks() - 1; }

  /// One rank after the other has its gradients summed before the check's step.
  static std::int64_t passes_before_step() { return session->ranks(); }

  SpoiltBackend backend_{make_mpi_backend(*session, Bytes{1 << 20})};
  std::unique_ptr<Operation> operation_;
};

TEST_F(TrainingCheck, FindsNothingWhereNothingIsWrong) {
  for (const char* strategy : {"", "zero2", "zero3", "none"}) {
    open(strategy);
    const Verification result = verify();
    EXPECT_EQ(result.wrong, 0) << strategy;
    EXPECT_THAT(result.first_wrong, IsEmpty()) << strategy;
    EXPECT_GT(result.checked, 0) << strategy;
  }
}

TEST_F(TrainingCheck, AssumesNoProtocolWhereNothingIsSent) {
  open("none");
  EXPECT_EQ(operation_->plan(), TransferPlan{});
  for (const char* strategy : {"", "zero2", "zero3"}) {
    open(strategy);
    EXPECT_EQ(operation_->plan(),
              (session->ranks() > 2 ? TransferPlan{} : TransferPlan{"", "SIMPLE"}));
  }
}

// Under zero2 and zero3 a rank's sums decide what all get: their parameters stay alike.
TEST_F(TrainingCheck, FindsSumsThatAreOthers) {
  for (const char* strategy : {"", "zero2", "zero3"}) {
    open(strategy);
    faults().spoils_all_sums = is_last();
    const Verification result = verify();
    EXPECT_EQ(result.wrong, is_last() ? 1 : 0) << strategy;
    if (!is_last()) continue;
    EXPECT_THAT(result.first_wrong, AllOf(HasSubstr("gradients"), HasSubstr("rank 0"))) << strategy;
  }
}

TEST_F(TrainingCheck, FindsParametersThatWentApartInTheStepAlone) {
  open("");
  operation_->run(1);
  const std::int64_t sums = faults().sums;
  ASSERT_GT(sums, 0);
  if (is_last()) faults().spoilt_sum = passes_before_step() * sums;
  const Verification result = verify();
  EXPECT_EQ(result.wrong, is_last() ? 1 : 0);
  if (!is_last()) return;
  EXPECT_THAT(result.first_wrong, HasSubstr("parameters"));
}

// All ranks get the same wrong parameters, after sums were found to be right.
TEST_F(TrainingCheck, FindsALossThatIsNoNumber) {
  open("zero3");
  operation_->run(1);
  const std::int64_t gathers = faults().gathers;
  ASSERT_GT(gathers, 0);
  // One pass more: of each rank's own gradients.
  faults().poisoned_gather = (passes_before_step() + 1) * gathers;
  const Verification result = verify();
  EXPECT_EQ(result.wrong, 1);
  EXPECT_THAT(result.first_wrong, AllOf(HasSubstr("loss"), HasSubstr("nan")));
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv); }
