#include "linkgain/protocol/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using namespace protocol;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
  const RunReply run = reply_back(RunReply{{1.0 / 3, std::nullopt}, {{40, 1.5, {}, 4}, {}}, 9.25});
  EXPECT_EQ(run.loss, 9.25);
  EXPECT_THAT(run.seconds, ElementsAre(1.0 / 3, std::nullopt));
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
  cut_short(decode_reply, encode(Reply{RunReply{{0.5}, {{40, 1.5, {}, 4}}}}));
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
  EXPECT_EQ(all.types.size(), kDataTypes.size());
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

}  // namespace
}  // namespace linkgain::test
