// Run by mpirun: every rank runs the same tests in the same order.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/engine.hpp"
#include "steady_backend.hpp"
#include "support/call_log_double.hpp"
#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Ranks : public RankTest {
 protected:
  static int last() { return session->ranks() - 1; }
};

TEST_F(Ranks, GatherTextsOfAnyLengthByRank) {
  const std::string own(static_cast<std::size_t>(session->rank()) * 3000,
                        static_cast<char>('a' + session->rank()));
  const std::vector<std::string> all = session->gather(own);
  if (!session->is_root()) {
    EXPECT_THAT(all, IsEmpty());
    return;
  }
  ASSERT_THAT(all, SizeIs(session->ranks()));
  for (int rank = 0; rank < session->ranks(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    EXPECT_EQ(all[place], std::string(place * 3000, static_cast<char>('a' + rank)));
  }
}

TEST_F(Ranks, ShareTextsOfAnyBytesByRank) {
  const std::string own(static_cast<std::size_t>(session->rank()) * 1000, '\0');
  const std::vector<std::string> all = session->share(own + "end");
  ASSERT_THAT(all, SizeIs(session->ranks()));
  for (int rank = 0; rank < session->ranks(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    EXPECT_EQ(all[place], std::string(place * 1000, '\0') + "end");
  }
}

TEST_F(Ranks, GatherNumbersByRank) {
  const double rank = session->rank();
  const std::vector<double> all = session->gather(std::vector<double>{rank, -rank});
  if (!session->is_root()) {
    EXPECT_THAT(all, IsEmpty());
    return;
  }
  EXPECT_THAT(all, ElementsAre(0, 0, 1, -1, 2, -2));
}

TEST_F(Ranks, AgreeOnTheFirstText) {
  EXPECT_EQ(session->first_text(std::nullopt), std::nullopt);
  const std::string own = "of rank " + std::to_string(session->rank());
  const auto from = [&](int first) {
    return session->first_text(session->rank() >= first ? std::optional(own) : std::nullopt);
  };
  EXPECT_EQ(from(0), "of rank 0");
  EXPECT_EQ(from(1), "of rank 1");
  EXPECT_EQ(from(last()), "of rank " + std::to_string(last()));
  EXPECT_EQ(session->first_text(session->rank() == 1 ? std::optional(std::string()) : std::nullopt),
            "");
}

TEST_F(Ranks, KnowThatTheyAreOnOneHost) {
  EXPECT_TRUE(session->on_one_host());
  EXPECT_EQ(session->local_rank(), session->rank());
}

TEST_F(Ranks, FindTheGreatestNumber) {
  EXPECT_EQ(session->max(-1.5 - session->rank()), -1.5);
  EXPECT_EQ(session->max(session->rank()), last());
}

TEST_F(Ranks, HearTheCommandOfRankZero) {
  const std::string longest(Session::kLongestCommand, 'x');
  EXPECT_EQ(session->broadcast_command(session->is_root() ? "first" : "not heard"), "first");
  EXPECT_EQ(session->broadcast_command(session->is_root() ? "" : "not heard"), "");
  EXPECT_EQ(session->broadcast_command(session->is_root() ? longest : ""), longest);
  if (session->is_root()) {
    EXPECT_THROW(session->broadcast_command(longest + "x"), std::length_error);
  }
  EXPECT_EQ(session->broadcast_command(session->is_root() ? "after it" : ""), "after it");
}

TEST_F(Ranks, SleepWhileTheyWaitForACommand) {
  const std::clock_t before = std::clock();
  const auto start = std::chrono::steady_clock::now();
  if (session->is_root()) ::usleep(500'000);
  session->broadcast_command("now");
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_GT(waited.count(), 0.2);
  EXPECT_LT(used, 0.1 * waited.count());
}

/// Passes if the watchdog does not end the test program.
TEST_F(Ranks, WaitLongerForACommandOfWhichMoreIsExpected) {
  Watchdog watchdog(*session, Seconds{0.5});
  Watchdog::Command command(watchdog, "work");
  command.expect(Seconds{10.0});
  std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// Rank 0 leads with the commands of a test, the others follow until it sends shutdown.
class EngineOnRanks : public Ranks {
 protected:
  template <typename Lead>
  void lead(Lead lead, std::optional<Fault> fault = {}) {
    Watchdog watchdog(*session, Seconds{60.0});
    Engine engine(watchdog, backend_, fault);
    if (!session->is_root()) return engine.follow();
    lead(engine);
    EXPECT_TRUE(std::holds_alternative<protocol::DoneReply>(engine.lead(protocol::Shutdown{})));
  }

  static protocol::Open all_reduce(const std::string& size) {
    return {"all_reduce/float32/sum/" + size + "/np" + std::to_string(session->ranks()),
            Seconds{0.01}};
  }

  template <typename ReplyType>
  static ReplyType get(const protocol::Reply& reply) {
    if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) {
      ADD_FAILURE() << error->text;
    }
    return std::get<ReplyType>(reply);
  }

  static std::string error_of(const protocol::Reply& reply) {
    const auto* error = std::get_if<protocol::ErrorReply>(&reply);
    return error != nullptr ? error->text + "|" + error->advice : "no error";
  }

  SteadyBackend backend_{*session};
};

TEST_F(EngineOnRanks, DescribesEveryRank) {
  lead([](Engine& engine) {
    const auto hello = get<protocol::HelloReply>(engine.lead(protocol::Hello{}));
    ASSERT_THAT(hello.machine.ranks, SizeIs(session->ranks()));
    for (int rank = 0; rank < session->ranks(); ++rank) {
      EXPECT_EQ(hello.machine.ranks[static_cast<std::size_t>(rank)].rank, rank);
    }
    EXPECT_EQ(hello.machine.software.nccl_library, "steady");
    EXPECT_EQ(hello.path, Path::host_memory);
  });
}

TEST_F(EngineOnRanks, FitsTheBatchToTheTarget) {
  lead([](Engine& engine) {
    const auto opened = get<protocol::OpenReply>(engine.lead(all_reduce("64B")));
    EXPECT_EQ(opened.execution.operations_per_sample, 10);
    EXPECT_NEAR(opened.per_operation.value, 0.001, 1e-9);
  });
}

TEST_F(EngineOnRanks, TellWhatTheLibraryChoseForTheWarmUp) {
  const std::string log = "/tmp/linkgain_ranks_test_" + std::to_string(::getpid());
  ::setenv("NCCL_DEBUG_FILE", log.c_str(), 1);
  lead([](Engine& engine) {
    protocol::Open command = all_reduce("64B");
    EXPECT_FALSE(get<protocol::OpenReply>(engine.lead(command)).plan) << "nobody asked";
    command.ask_plan = true;
    const auto opened = get<protocol::OpenReply>(engine.lead(command));
    EXPECT_EQ(opened.plan, (TransferPlan{"RING", "LL"}));
    EXPECT_GT(opened.plan_cost.value, 0.0);
  });
  CallLogDouble::close();
  ::unsetenv("NCCL_DEBUG_FILE");
  for (const char* ending : {"", ".now", ".kept"}) std::remove((log + ending).c_str());
}

TEST_F(EngineOnRanks, AGpuThatAnotherJobHasJustLeftIsNotRaisedToItsClock) {
  lead([](Engine& engine) {
    protocol::Open command = all_reduce("64B");
    command.rested = Seconds{0.01};
    get<protocol::OpenReply>(engine.lead(command));
  });
  EXPECT_THAT(backend_.busy, SizeIs(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  lead([](Engine& engine) {
    protocol::Open command = all_reduce("64B");
    command.rested = Seconds{1.0};
    get<protocol::OpenReply>(engine.lead(command));
    command.rested = Seconds{0.01};
    EXPECT_GT(get<protocol::OpenReply>(engine.lead(command)).buffers_time.value, 0.0);
  });
  ASSERT_THAT(backend_.busy, SizeIs(1)) << "once for a job that has not worked yet";
  EXPECT_EQ(backend_.busy[0], Seconds{0.15}) << "as long as an idle GPU's clock needs";
}

TEST_F(EngineOnRanks, BatchesAreWholeGraphs) {
  backend_.granularity = 4;
  lead([](Engine& engine) {
    const auto opened = get<protocol::OpenReply>(engine.lead(all_reduce("64B")));
    EXPECT_EQ(opened.execution.operations_per_sample, 12) << "10 would fill the time";
    EXPECT_THAT(error_of(engine.lead(protocol::Run{opened.handle, 10})),
                AllOf(HasSubstr(" 10 "), HasSubstr(" 4 ")));
    EXPECT_THAT(error_of(engine.lead(protocol::Run{opened.handle, 0})),
                AllOf(HasSubstr(" 0 "), HasSubstr(" 4 ")));
    get<protocol::RunReply>(engine.lead(protocol::Run{opened.handle, 8}));
  });
}

TEST_F(EngineOnRanks, OneHeldUpBatchDoesNotDecideTheBatchLength) {
  backend_.held_up = session->rank() == last() ? 1 : 0;
  lead([](Engine& engine) {
    const auto opened = get<protocol::OpenReply>(engine.lead(all_reduce("64B")));
    EXPECT_EQ(opened.execution.operations_per_sample, 10);
  });
}

TEST_F(EngineOnRanks, TakeOverWhatAnotherLaunchFoundWhereItStillSuits) {
  lead([this](Engine& engine) {
    const auto operations = [&](std::int64_t known) {
      protocol::Open command = all_reduce("64B");
      command.operations = known;
      return get<protocol::OpenReply>(engine.lead(command)).execution.operations_per_sample;
    };
    EXPECT_EQ(operations(12), 12) << "near the 10 that would fill the time";
    EXPECT_EQ(operations(16), 10) << "more than half as many again";
    EXPECT_EQ(operations(6), 10) << "too few";
    EXPECT_EQ(operations(0), 10);
  });
}

TEST_F(EngineOnRanks, RanksThatTakeNoPartHaveNoTime) {
  lead([](Engine& engine) {
    const auto opened = get<protocol::OpenReply>(
        engine.lead(protocol::Open{"send_recv/float32/64B/np3/pair=1-2", Seconds{0.01}}));
    const auto run = get<protocol::RunReply>(engine.lead(protocol::Run{opened.handle, 3}));
    ASSERT_THAT(run.times, SizeIs(3));
    EXPECT_EQ(run.times[0], std::nullopt);
    EXPECT_NEAR(run.times[1].value_or(Seconds{}).value, 0.001, 1e-9);
    EXPECT_EQ(run.times[2], std::nullopt);
    EXPECT_THAT(run.health, SizeIs(3));
  });
}

TEST_F(EngineOnRanks, WhatOneRankCannotOpenIsRefusedByAll) {
  lead([](Engine& engine) {
    EXPECT_EQ(error_of(engine.lead(all_reduce("4MiB"))), "rank 0: no memory|buy some");
    EXPECT_EQ(error_of(engine.lead(all_reduce("8MiB"))), "rank 2: no memory|buy some");
    EXPECT_EQ(error_of(engine.lead(all_reduce("16MiB"))), "rank 2: no window|open one");
    const auto opened = get<protocol::OpenReply>(engine.lead(all_reduce("64B")));
    get<protocol::RunReply>(engine.lead(protocol::Run{opened.handle, 3}));
  });
}

TEST_F(EngineOnRanks, HostCopiesAreThoseOfEveryRankAtOnceAndAlone) {
  lead([](Engine& engine) {
    const auto rates = get<protocol::HostCopyReply>(engine.lead(protocol::HostCopy{})).ranks;
    const HostCopyRates each{40.0, 30.0, CopyRates{50.0, 40.0}};
    EXPECT_THAT(rates, ElementsAre(std::nullopt, each, each));
  });
  std::vector<double> own = backend_.copies.starts_and_ends;
  EXPECT_THAT(own, SizeIs(session->is_root() ? 0 : 8));
  own.resize(8);
  const std::vector<double> all = session->gather(own);
  if (!session->is_root()) return;
  const double end_of_first_alone = all.at(8 + 7);
  const double start_of_second_alone = all.at(2 * 8 + 4);
  EXPECT_LE(end_of_first_alone, start_of_second_alone);
  for (int of_rank : {1, 2}) {
    EXPECT_LE(all.at(8 * of_rank + 1), all.at(8 * (3 - of_rank) + 2)) << "one way, then the other";
    EXPECT_LE(all.at(8 * of_rank + 3), all.at(8 + 4)) << "at once, then alone";
  }
}

/// Allows 30 ms each way for each of 3 ranks: at 8 and 6 GB/s a copy takes 6.25 and 8.3 ms.
TEST_F(EngineOnRanks, SlowHostCopiesAreFewerAlone) {
  const std::map<double, std::vector<int>> calls_at{{5.0, {4, 4, 3, 2}}, {50.0, {4, 4, 1, 1}}};
  for (const auto& [slowness, calls] : calls_at) {
    backend_.copies = {.slowness = slowness, .calls = {}, .starts_and_ends = {}};
    lead([](Engine& engine) { engine.lead(protocol::HostCopy{}); });
    EXPECT_EQ(backend_.copies.calls, session->is_root() ? std::vector<int>{} : calls);
  }
}

TEST_F(EngineOnRanks, AHostCopyThatFailsOnOneRankIsRefusedByAll) {
  for (const int call : {1, 2, 3, 4}) {
    backend_.copies = {};
    if (session->rank() == last()) backend_.copies.fails_at = call;
    lead([](Engine& engine) {
      EXPECT_EQ(error_of(engine.lead(protocol::HostCopy{})),
                "rank 2: the copy failed|look at the bus");
      const auto opened = get<protocol::OpenReply>(engine.lead(all_reduce("64B")));
      get<protocol::RunReply>(engine.lead(protocol::Run{opened.handle, 3}));
    });
  }
}

TEST_F(EngineOnRanks, HandlesLiveFromOpenToClose) {
  lead([](Engine& engine) {
    const int first = get<protocol::OpenReply>(engine.lead(all_reduce("64B"))).handle;
    const int second = get<protocol::OpenReply>(engine.lead(all_reduce("128B"))).handle;
    EXPECT_NE(first, second);
    get<protocol::DoneReply>(engine.lead(protocol::Close{first}));
    EXPECT_THAT(error_of(engine.lead(protocol::Run{first, 3})),
                HasSubstr("handle " + std::to_string(first)));
    EXPECT_THAT(error_of(engine.lead(protocol::Close{first})),
                HasSubstr("handle " + std::to_string(first)));
    get<protocol::VerifyReply>(engine.lead(protocol::Verify{second}));
  });
}

TEST_F(EngineOnRanks, VerificationAddsUpOverRanks) {
  lead(
      [](Engine& engine) {
        const int handle = get<protocol::OpenReply>(engine.lead(all_reduce("64B"))).handle;
        const auto reply = get<protocol::VerifyReply>(engine.lead(protocol::Verify{handle}));
        EXPECT_EQ(reply.verification.checked, 30);
        EXPECT_EQ(reply.verification.wrong, 2);
        EXPECT_THAT(reply.verification.first_wrong,
                    AllOf(StartsWith("rank 1"), HasSubstr("element 4")));
      },
      Fault{Fault::Kind::corrupt, 1, 1});
}

/// Takes 16 shapes, the most that GPT-2 has.
TEST_F(EngineOnRanks, ACommandHoldsTheProductsOfATraining) {
  lead([](Engine& engine) {
    protocol::Open open = all_reduce("64B");
    open.products.assign(16, "algo 66, tile 600, stages 35, split 16, offer 8");
    get<protocol::OpenReply>(engine.lead(open));
  });
}

TEST_F(EngineOnRanks, ATooLongCommandIsRefusedBeforeItIsSent) {
  lead([](Engine& engine) {
    const protocol::Open open{std::string(Session::kLongestCommand, 'x'), Seconds{0.01}};
    EXPECT_THAT(error_of(engine.lead(open)), HasSubstr(std::to_string(Session::kLongestCommand)));
    get<protocol::HelloReply>(engine.lead(protocol::Hello{}));
  });
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv); }
