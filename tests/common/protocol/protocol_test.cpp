#include "linkgain/protocol/protocol.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "linkgain/base/errors.hpp"
#include "support/full_record.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using namespace protocol;

template <typename Message>
Message command_back(const Message& message) {
  const std::string line = encode(Command{message});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(name_of(decode_command(line)), name_of(Command{message}));
  return std::get<Message>(decode_command(line));
}

template <typename Message>
Message reply_back(const Message& message) {
  const std::string line = encode(Reply{message});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  return std::get<Message>(decode_reply(line));
}

template <typename Message>
Message cut_short(Message decode(std::string_view), const std::string& line) {
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_THROW(decode(std::string_view(line).substr(0, size)), UsageError) << size;
  }
  return decode(line);
}

TEST(Protocol, CommandsRoundTrip) {
  command_back(Hello{});
  command_back(Shutdown{});
  command_back(Counters{});
  command_back(HostCopy{});
  const Open open = command_back(Open{"send_recv/float32/1KiB/np2", Seconds{0.0075}});
  EXPECT_EQ(open.case_name, "send_recv/float32/1KiB/np2");
  EXPECT_EQ(open.sample_target, Seconds{0.0075});
  EXPECT_FALSE(open.ask_plan);
  EXPECT_FALSE(open.rested);
  EXPECT_FALSE(open.operations);
  EXPECT_THAT(open.products, ElementsAre());
  const Open later = command_back(Open{
      "send_recv/float32/1KiB/np2", Seconds{1.0}, true, Seconds{0.5}, 40, {"algo 66", "algo 7"}});
  EXPECT_EQ(later.operations, 40);
  EXPECT_THAT(later.products, ElementsAre("algo 66", "algo 7"));
  EXPECT_TRUE(later.ask_plan);
  EXPECT_EQ(later.rested, Seconds{0.5});
  EXPECT_EQ(command_back(protocol::Run{3, 8, Seconds{0.25}}).rested, Seconds{0.25});
  const protocol::Run run = command_back(protocol::Run{3, 5'000'000'000});
  EXPECT_EQ(run.handle, 3);
  EXPECT_EQ(run.operations, 5'000'000'000);
  EXPECT_EQ(command_back(Verify{4}).handle, 4);
  EXPECT_EQ(command_back(Close{5}).handle, 5);
}

TEST(Protocol, HelloRepliesRoundTrip) {
  HelloReply reply;
  reply.version = 7;
  reply.backend = BackendKind::nccl;
  reply.capabilities = {{"all_reduce"}, {"int8", "float16"}, {}, {"graph"}, {"plain"}};
  reply.machine = full_machine();
  reply.environment = {{"NCCL_ALGO", "Ring,Tree"}, {"NCCL_DEBUG", ""}};
  reply.path = Path::network;
  reply.ranks_time = Seconds{0.5};
  reply.gpus_time = Seconds{0.25};
  reply.connecting_time = Seconds{0.125};
  const HelloReply back = reply_back(reply);
  EXPECT_EQ(back.version, 7);
  EXPECT_EQ(back.backend, BackendKind::nccl);
  EXPECT_EQ(back.capabilities.operations, reply.capabilities.operations);
  EXPECT_EQ(back.capabilities.types, reply.capabilities.types);
  EXPECT_EQ(back.capabilities.reductions, reply.capabilities.reductions);
  EXPECT_EQ(back.capabilities.launch_modes, reply.capabilities.launch_modes);
  EXPECT_EQ(back.capabilities.buffers, reply.capabilities.buffers);
  EXPECT_TRUE(same(back.machine, reply.machine));
  EXPECT_EQ(back.environment, reply.environment);
  EXPECT_EQ(back.path, Path::network);
  EXPECT_EQ(back.ranks_time, reply.ranks_time);
  EXPECT_EQ(back.gpus_time, reply.gpus_time);
  EXPECT_EQ(back.connecting_time, reply.connecting_time);
  EXPECT_FALSE(reply_back(HelloReply{}).path);
}

TEST(Protocol, ReadingsOfLinksRoundTrip) {
  const CountersReply counters{{{std::int64_t{1} << 52, 2, std::nullopt, 4}, {}},
                               "rank 1: no NVML",
                               "rank 0: Not Supported"};
  EXPECT_EQ(reply_back(counters).ranks, counters.ranks);
  EXPECT_EQ(reply_back(counters).reason, "rank 1: no NVML");
  EXPECT_EQ(reply_back(counters).pcie_reason, "rank 0: Not Supported");
  const HostCopyReply copies{{HostCopyRates{34.8, 1.0 / 3, CopyRates{55.4, 2.0 / 3}},
                              HostCopyRates{34.8, 1.0 / 3}, std::nullopt}};
  EXPECT_EQ(reply_back(copies).ranks, copies.ranks);
  EXPECT_THAT(reply_back(CountersReply{}).ranks, ::testing::IsEmpty());
}

TEST(Protocol, OtherRepliesRoundTrip) {
  const OpenReply open = reply_back(OpenReply{9,
                                              {100, 1, 4, 25, true, "grouped"},
                                              Seconds{1.0 / 3},
                                              TransferPlan{"RING", "LL"},
                                              Seconds{0.25},
                                              Seconds{0.5},
                                              Seconds{0.75},
                                              Seconds{1.25},
                                              Seconds{1.5}});
  EXPECT_EQ(open.buffers_time, Seconds{0.5});
  EXPECT_EQ(open.clocks_time, Seconds{0.75});
  EXPECT_EQ(open.first_operations_time, Seconds{1.25});
  EXPECT_EQ(open.calibrating_time, Seconds{1.5});
  EXPECT_EQ(open.handle, 9);
  EXPECT_TRUE(same(open.execution, Execution{100, 1, 4, 25, true, "grouped"}));
  EXPECT_EQ(open.per_operation, Seconds{1.0 / 3});
  EXPECT_EQ(open.plan, (TransferPlan{"RING", "LL"}));
  EXPECT_EQ(open.plan_cost, Seconds{0.25});
  EXPECT_FALSE(reply_back(OpenReply{}).plan);
  const RunReply run =
      reply_back(RunReply{{Seconds{1.0 / 3}, std::nullopt}, {{40, 1.5, {}, 4}, {}}, 9.25});
  EXPECT_EQ(run.loss, 9.25);
  EXPECT_THAT(run.times, ElementsAre(Seconds{1.0 / 3}, std::nullopt));
  EXPECT_THAT(run.health, ElementsAre(Health{40, 1.5, {}, 4}, Health{}));
  const Verification found{10, 2, std::numeric_limits<double>::infinity(), 0.5, "rank 1"};
  EXPECT_TRUE(same(reply_back(VerifyReply{found}).verification, found));
  reply_back(DoneReply{});
  const ErrorReply error = reply_back(ErrorReply{"line\nbreak \"quoted\"", "advice", 3});
  EXPECT_EQ(error.text, "line\nbreak \"quoted\"");
  EXPECT_EQ(error.advice, "advice");
  EXPECT_EQ(error.exit_code, 3);
}

TEST(Protocol, RefusesLinesCutShort) {
  EXPECT_EQ(std::get<protocol::Run>(cut_short(decode_command, encode(Command{protocol::Run{3, 8}})))
                .operations,
            8);
  cut_short(decode_reply, encode(Reply{RunReply{{Seconds{0.5}}, {{40, 1.5, {}, 4}}}}));
}

TEST(Protocol, RefusesWhatIsNoMessage) {
  for (const char* line :
       {"", "hello", "null", "[]", "7", "{}", R"({"command":"dance"})", R"({"command":7})",
        R"({"command":"run","handle":1})", R"({"command":"run","handle":"1","operations":1})",
        R"({"command":"open","case":7,"sample_target_s":1})", R"({"reply":"done"})"}) {
    EXPECT_THROW(decode_command(line), UsageError) << line;
  }
  for (const char* line :
       {"", "done", "null", "[]", "{}", R"({"reply":"dance"})", R"({"reply":"open","handle":1})",
        R"({"reply":"run","seconds":["fast"],"health":[]})", R"({"reply":"run","seconds":[]})",
        R"({"reply":"error","text":"t","advice":"a"})", R"({"command":"hello"})"}) {
    EXPECT_THROW(decode_reply(line), UsageError) << line;
  }
  try {
    decode_command("garbage");
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'garbage'"));
  }
}

TEST(Capabilities, OfNcclAreAll) {
  const Capabilities all = capabilities_of(BackendKind::nccl);
  EXPECT_EQ(all.operations.size(), kOperations.size());
  EXPECT_THAT(all.buffers, ElementsAre("plain", "allocated", "registered", "symmetric"));
  EXPECT_EQ(all.types.size(), kValues<DataType>.size());
  EXPECT_THAT(all.reductions, ElementsAre("sum", "prod", "min", "max", "avg", "mulsum"));
  EXPECT_THAT(all.launch_modes, ElementsAre("stream", "graph"));
}

TEST(Capabilities, OfMpiLackWhatMpiLacks) {
  const Capabilities some = capabilities_of(BackendKind::mpi);
  EXPECT_EQ(some.operations.size(), 11U) << "no copies between GPUs' memories";
  EXPECT_EQ(some.operations.back(), "gpt2_step");
  EXPECT_THAT(some.buffers, ElementsAre("plain"));
  EXPECT_THAT(some.types, ElementsAre("float32", "float64", "int8", "uint8", "int32", "uint32",
                                      "int64", "uint64"));
  EXPECT_THAT(some.reductions, Not(::testing::Contains("avg")));
  EXPECT_THAT(some.launch_modes, ElementsAre("stream"));
}

using namespace protocol;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Checks the reply as it comes from a job.
void require_possible_line(const Reply& reply, std::optional<int> ranks) {
  require_possible(decode_reply(encode(reply)), ranks);
}

HelloReply two_ranks() {
  HelloReply reply;
  reply.machine.ranks.resize(2);
  reply.machine.ranks[1].rank = 1;
  return reply;
}

OpenReply opened() {
  return {.handle = 1,
          .execution = {.operations_per_sample = kMostOperations},
          .per_operation = Seconds{1e-6},
          .plan = std::nullopt};
}

RunReply timed(double first, double second) {
  return {.times = {Seconds{first}, Seconds{second}}, .health = {{}, {}}};
}

VerifyReply verified(std::int64_t checked, std::int64_t wrong, double largest_error = 0.0) {
  VerifyReply reply;
  reply.verification.checked = checked;
  reply.verification.wrong = wrong;
  reply.verification.largest_error = largest_error;
  return reply;
}

/// Replies that are refused, and with what.
class Refusals {
 public:
  template <typename Kind>
  void add(const std::string& what, Kind reply, const std::function<void(Kind&)>& change) {
    EXPECT_NO_THROW(require_possible_line(reply, 2)) << what;
    change(reply);
    add(what, reply);
  }
  void add(const std::string& what, const Reply& reply) {
    all_.refuse(what, [&] { require_possible_line(reply, 2); });
  }

  Situations& all() { return all_; }

 private:
  Situations all_;
};

TEST(RequirePossible, TakesWhatJobsMeasure) {
  EXPECT_NO_THROW(require_possible_line(two_ranks(), 2));
  EXPECT_NO_THROW(require_possible_line(opened(), 2));
  EXPECT_NO_THROW(require_possible_line(timed(1e-9 / 1e6, 1e6), 2));
  EXPECT_NO_THROW(
      require_possible_line(RunReply{{Seconds{0.5}, std::nullopt}, {{40, 0.0, 0, {}}, {}}}, 2));
  EXPECT_NO_THROW(require_possible_line(verified(1, 1, kInfinite), 2));
  EXPECT_NO_THROW(require_possible_line(CountersReply{{{0, kMost, {}, {}}, {}}, "", ""}, 2));
  EXPECT_NO_THROW(
      require_possible_line(HostCopyReply{{HostCopyRates{34.8, 1e-3}, std::nullopt}}, 2));
  EXPECT_NO_THROW(require_possible_line(DoneReply{}, 2));
  EXPECT_NO_THROW(require_possible_line(ErrorReply{"no", "", -1}, 2));
}

TEST(RequirePossible, AsksForNoRanksWhereTheyAreNotKnown) {
  EXPECT_NO_THROW(require_possible_line(HelloReply{}, std::nullopt));
  EXPECT_NO_THROW(require_possible_line(RunReply{}, std::nullopt));
}

TEST(RequirePossible, RefusesWhatNoJobMeasures) {
  Refusals refusals;
  refusals.all().about("hello");
  refusals.add("no ranks", HelloReply{});
  refusals.add<HelloReply>("one of two", two_ranks(), [](auto& r) { r.machine.ranks.pop_back(); });
  refusals.add<HelloReply>("rank 0 twice", two_ranks(),
                           [](auto& r) { r.machine.ranks[1].rank = 0; });
  refusals.add<HelloReply>("start", two_ranks(), [](auto& r) { r.ranks_time = Seconds{-1.0}; });
  refusals.all().about("open");
  for (const std::int64_t operations : {std::int64_t{-5}, std::int64_t{0}, kMost}) {
    refusals.add<OpenReply>("operations", opened(),
                            [=](auto& r) { r.execution.operations_per_sample = operations; });
  }
  refusals.add<OpenReply>("discarded", opened(),
                          [](auto& r) { r.execution.discarded_per_sample = -1; });
  refusals.add<OpenReply>("slots", opened(), [](auto& r) { r.execution.buffer_slots = 0; });
  refusals.add<OpenReply>("estimate", opened(), [](auto& r) { r.per_operation = Seconds{-1e9}; });
  refusals.add<OpenReply>("long batch", opened(), [](auto& r) { r.per_operation = Seconds{10.0}; });
  refusals.add<OpenReply>("calibration", opened(),
                          [](auto& r) { r.calibrating_time = Seconds{-1e9}; });
  refusals.all().about("run");
  refusals.add("negative", timed(-1.0, 1e-6));
  refusals.add("zero", timed(0.0, 1e-6));
  refusals.add("endless", timed(1e308, 1e308));
  refusals.add("subnormal", timed(1e-320, 1e-6));
  refusals.add("one time", RunReply{.times = {Seconds{0.5}}, .health = {{}, {}}});
  refusals.add("one health", RunReply{.times = {Seconds{0.5}, Seconds{0.5}}, .health = {{}}});
  refusals.add<RunReply>("power", timed(0.5, 0.5), [](auto& r) { r.health[1].power_w = -1.0; });
  refusals.add<RunReply>("reading", timed(0.5, 0.5),
                         [](auto& r) { r.health_time = Seconds{-1.0}; });
  refusals.all().about("verify");
  refusals.add("negative", verified(10, -7));
  refusals.add("more than all", verified(3, 7));
  refusals.add("nothing checked", verified(0, 0));
  refusals.add("error", verified(10, 1, -1.0));
  refusals.all().about("counters and copies");
  refusals.add("negative", CountersReply{{{-1, {}, {}, {}}, {}}, "", ""});
  refusals.add("one rank", CountersReply{{{}}, "", ""});
  refusals.add("rate", HostCopyReply{{HostCopyRates{-1.0, 1.0}, std::nullopt}});
  refusals.add("no rate", HostCopyReply{{HostCopyRates{1.0, 0.0}, std::nullopt}});
  refusals.all().expect_golden("impossible_replies.txt");
}

}  // namespace
}  // namespace linkgain::test
