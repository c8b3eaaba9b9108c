#include "linkgain/cases/backend.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using testing::HasSubstr;

TEST(Backend, NamesParseBack) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    EXPECT_EQ(parse_backend(name_of(backend)), backend);
  }
  try {
    parse_backend("ncl");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "unknown backend 'ncl': did you mean nccl? (nccl, mpi)");
  }
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

TEST(RequireSupported, RefusesInPlaceWhatNoBackendHas) {
  Case c;
  c.size = Bytes{1024};
  c.in_place = true;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, c));
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.operation = OperationKind::alltoall;
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    try {
      require_supported(backend, c);
      FAIL() << "accepted";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(),
                fmt::format("the {} backend has no in-place form of alltoall", name_of(backend)));
      EXPECT_EQ(error.advice(), "leave --in-place out");
    }
  }
}

TEST(RequireSupported, SaysWhatThereIsInstead) {
  Case c;
  c.size = Bytes{1024};
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.type = DataType::float16;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, c));
  try {
    require_supported(BackendKind::mpi, c);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "the mpi backend has no type float16");
    for (const DataType type : kDataTypes) {
      if (!supports(BackendKind::mpi, type)) continue;
      EXPECT_THAT(error.advice(), HasSubstr(std::string(name_of(type))));
    }
  }
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

TEST(RequireSupported, MpiHasPlainBuffersOnly) {
  Case c;
  c.size = Bytes{1024};
  for (const Buffers buffers : {Buffers::allocated, Buffers::registered, Buffers::symmetric}) {
    c.buffers = buffers;
    EXPECT_NO_THROW(require_supported(BackendKind::nccl, c));
    try {
      require_supported(BackendKind::mpi, c);
      FAIL() << name_of(buffers);
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("MPI in CPU memory has plain buffers only"));
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(name_of(buffers))));
    }
  }
}

}  // namespace
}  // namespace linkgain
