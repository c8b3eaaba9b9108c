#include "linkgain/cases/backend.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "linkgain/base/errors.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(Backend, NamesParseBack) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    EXPECT_EQ(parse_backend(name_of(backend)), backend);
    EXPECT_EQ(parse_recorded_backend(name_of(backend)), backend);
  }
  EXPECT_EQ(parse_recorded_backend(name_of(BackendKind::exec)), BackendKind::exec);
  EXPECT_THROW(parse_backend("exec"), UsageError) << "in records alone";
}

TEST(Backend, MpiLacksTheTypesThatMpiLacks) {
  const std::set<DataType> lacking{DataType::float16, DataType::bfloat16, DataType::float8e4m3,
                                   DataType::float8e5m2};
  for (const DataType type : kDataTypes) {
    EXPECT_TRUE(supports(BackendKind::nccl, type)) << name_of(type);
    EXPECT_NE(supports(BackendKind::mpi, type), lacking.contains(type)) << name_of(type);
  }
}

TEST(Backend, MpiLacksAvgMulsumAndGraphs) {
  for (const Reduction reduction : kReductions) {
    EXPECT_TRUE(supports(BackendKind::nccl, reduction));
    const bool lacking = reduction == Reduction::avg || reduction == Reduction::mulsum;
    EXPECT_NE(supports(BackendKind::mpi, reduction), lacking);
  }
  EXPECT_TRUE(supports(BackendKind::nccl, LaunchMode::graph));
  EXPECT_FALSE(supports(BackendKind::mpi, LaunchMode::graph));
  EXPECT_TRUE(supports(BackendKind::mpi, LaunchMode::stream));
}

TEST(Backend, NoneHasAlltoallAndSendRecvInPlace) {
  for (const OperationKind operation : kOperations) {
    const bool aliases =
        operation == OperationKind::alltoall || operation == OperationKind::send_recv;
    EXPECT_EQ(supports_in_place(operation), has_in_place_form(operation) && !aliases)
        << name_of(operation);
  }
}

TEST(RequireSupported, SaysWhatTheBackendLacksAndWhatThereIsInstead) {
  Situations answers;
  const auto ask = [&](BackendKind backend, const Case& c, std::string_view what) {
    answers.refuse(fmt::format("{}: {}", name_of(backend), what),
                   [&] { require_supported(backend, c); });
  };
  Case c;
  c.size = Bytes{1024};
  c.in_place = true;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, c));
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.operation = OperationKind::alltoall;
  ask(BackendKind::nccl, c, "alltoall in place");
  ask(BackendKind::mpi, c, "alltoall in place");

  Case half;
  half.size = Bytes{1024};
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, half));
  half.type = DataType::float16;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, half));
  ask(BackendKind::mpi, half, name_of(half.type));

  Case other;
  other.size = Bytes{1024};
  for (const Buffers buffers : {Buffers::allocated, Buffers::registered, Buffers::symmetric}) {
    other.buffers = buffers;
    EXPECT_NO_THROW(require_supported(BackendKind::nccl, other));
    ask(BackendKind::mpi, other, name_of(buffers));
  }

  const auto ask_name = [&](BackendKind backend, const char* name) {
    ask(backend, parse_case_name(name), name);
  };
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, parse_case_name("gpt2_step/tf32/tiny/np2")));
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, parse_case_name("gpt2_step/fp64/tiny/np2")));
  ask_name(BackendKind::nccl, "gpt2_step/fp64/tiny/np2");
  ask_name(BackendKind::mpi, "gpt2_step/fp32/tiny/np2");
  ask_name(BackendKind::mpi, "gpt2_step/fp64/gpt2/np2");
  for (const char* name :
       {"latency/8B/np2/pair=0-1", "copy_push/1KiB/np2/kernel",
        "all_reduce/float32/sum/1KiB/np2/kernel", "all_reduce/float32/avg/1KiB/np2",
        "all_reduce/float32/sum/8B/np2/graph"}) {
    EXPECT_NO_THROW(require_supported(BackendKind::nccl, parse_case_name(name)));
    ask_name(BackendKind::mpi, name);
  }
  answers.expect_golden("backend_lacks.txt");
}

TEST(RequireSupported, AsksForAReductionOnlyWhereThereIsOne) {
  Case c;
  c.size = Bytes{1024};
  c.reduction = Reduction::avg;
  EXPECT_THROW(require_supported(BackendKind::mpi, c), UsageError);
  c.operation = OperationKind::send_recv;
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.launch = LaunchMode::graph;
  EXPECT_THROW(require_supported(BackendKind::mpi, c), UsageError);
}

}  // namespace
}  // namespace linkgain::test
