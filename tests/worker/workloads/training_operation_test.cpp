#include "linkgain/workloads/training_operation.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "backends.hpp"
#include "support/rank_test.hpp"

// Run by mpirun: what the check at the end of a training finds, and what it calls it.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What goes wrong on this rank, by numbers that count from 0 on since count_anew(), and what was
/// asked for so far. Scalars do not count.
struct CommunicationFaults {
  bool spoils_all_sums = false;
  std::optional<std::int64_t> spoilt_sum;       ///< what of it is this rank's begins with 1 more
  std::optional<std::int64_t> poisoned_gather;  ///< becomes NaN
  std::int64_t sums = 0;
  std::int64_t gathers = 0;

  void count_anew() { sums = gathers = 0; }
};

/// Another one's operations on doubles, which come to grief as `faults` say.
class SpoiltCommunication : public TrainingCommunication {
 public:
  SpoiltCommunication(std::unique_ptr<TrainingCommunication> inner, CommunicationFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

 private:
  enum class Harm { none, one_more, no_number };
  struct Pending {
    Harm harm;
    double* values;
    ParameterRange range;
  };

  int do_rank() const override { return inner_->rank(); }
  int do_ranks() const override { return inner_->ranks(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return remember(inner_->all_reduce(memory, range), memory, range, harm_to_sum(range));
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    return remember(inner_->reduce_scatter(memory, range), memory, range, harm_to_sum(range));
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    const bool harms = faults_.gathers++ == faults_.poisoned_gather;
    return remember(inner_->all_gather(memory, range), memory, range,
                    harms ? Harm::no_number : Harm::none);
  }
  void do_progress() override { inner_->progress(); }

  void do_wait(CommunicationTicket ticket) override {
    inner_->wait(ticket);
    const Pending done = pending_.at(ticket.number);
    pending_.erase(ticket.number);
    if (done.harm == Harm::one_more) {
      done.values[shard_of(done.range, inner_->rank(), inner_->ranks()).offset] += 1.0;
    } else if (done.harm == Harm::no_number) {
      for (std::int64_t i = done.range.offset; i < done.range.end(); ++i) {
        done.values[i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }

  Harm harm_to_sum(const ParameterRange& range) {
    if (range.count == 1) return Harm::none;
    const bool harms = faults_.sums++ == faults_.spoilt_sum || faults_.spoils_all_sums;
    return harms ? Harm::one_more : Harm::none;
  }

  CommunicationTicket remember(CommunicationTicket ticket, const FlatMemory& memory,
                               const ParameterRange& range, Harm harm) {
    pending_[ticket.number] = {harm, static_cast<double*>(memory.data), range};
    return ticket;
  }

  std::unique_ptr<TrainingCommunication> inner_;
  CommunicationFaults& faults_;
  std::map<std::int64_t, Pending> pending_;
};

/// Another one's, with such communication. Opens no operations.
class SpoiltBackend : public Backend {
 public:
  explicit SpoiltBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  CommunicationFaults faults;

 private:
  BackendKind do_kind() const override { return inner_->kind(); }
  std::optional<GpuInfo> do_gpu() const override { return {}; }
  void do_connect() override { inner_->connect(); }
  std::unique_ptr<Operation> do_open(const Case&, const std::optional<Rotation>&) override {
    return nullptr;
  }
  std::unique_ptr<TrainingCommunication> do_open_training_communication(void* stream) override {
    return std::make_unique<SpoiltCommunication>(inner_->open_training_communication(stream),
                                                 faults);
  }
  std::unique_ptr<HostCopy> do_open_host_copy() override { return nullptr; }
  void do_keep_busy(Seconds) override {}
  void do_describe(Software&) const override {}
  LogSwitch do_log_switch() const override { return nullptr; }
  std::optional<Path> do_path() const override { return {}; }

  std::unique_ptr<Backend> inner_;
};

/// A training of the tiny model, of which one rank's communication can be spoilt.
class TrainingCheck : public RankTest {
 protected:
  /// Opens the strategy's step with no faults; collective.
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

  /// Counts the passes before the check's step, each of which sums one rank's gradients.
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

// Spoils sums that under zero2 and zero3 all ranks get parts of: their parameters stay alike.
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

// Gives all ranks the same wrong parameters, after sums were found to be right.
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
