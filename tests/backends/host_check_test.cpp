#include "host_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "data_mapping.hpp"
#include "linkgain/core/backend.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kElements = 37;  // no multiple of any vector width

Case reduction_of(DataType type, Reduction reduction, int ranks) {
  Case c;
  c.type = type;
  c.reduction = reduction;
  c.ranks = ranks;
  c.size = Bytes{kElements * size_of(type)};
  return c;
}

std::vector<std::byte> input_of(const Case& c, int rank) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(c.size.value));
  fill_input(bytes, verification_pattern(c), rank);
  return bytes;
}

template <typename T>
T reduce(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::sum:
      return static_cast<T>(a + b);
    case Reduction::prod:
      return static_cast<T>(a * b);
    case Reduction::min:
      return b < a ? b : a;
    case Reduction::max:
      return a < b ? b : a;
    case Reduction::avg:
      break;
  }
  throw std::logic_error("no such reduction here");
}

/// The reduction over the inputs of the first `ranks`, made from these inputs and nothing else.
template <typename T>
std::vector<std::byte> reduced_as(const Case& c, int ranks) {
  std::vector<std::byte> result = input_of(c, 0);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<std::byte> next = input_of(c, rank);
    for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
      T a;
      T b;
      std::memcpy(&a, result.data() + at, sizeof(T));
      std::memcpy(&b, next.data() + at, sizeof(T));
      a = reduce(c.reduction, a, b);
      std::memcpy(result.data() + at, &a, sizeof(T));
    }
  }
  return result;
}

std::vector<std::byte> reduced(const Case& c, int ranks) {
  switch (c.type) {
    case DataType::float32:
      return reduced_as<float>(c, ranks);
    case DataType::float64:
      return reduced_as<double>(c, ranks);
    case DataType::int8:
      return reduced_as<std::int8_t>(c, ranks);
    case DataType::uint8:
      return reduced_as<std::uint8_t>(c, ranks);
    case DataType::int32:
      return reduced_as<std::int32_t>(c, ranks);
    case DataType::uint32:
      return reduced_as<std::uint32_t>(c, ranks);
    case DataType::int64:
      return reduced_as<std::int64_t>(c, ranks);
    case DataType::uint64:
      return reduced_as<std::uint64_t>(c, ranks);
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      break;
  }
  throw std::logic_error("the mpi backend has no such type");
}

std::vector<std::byte> reduced(const Case& c) { return reduced(c, c.ranks); }

template <typename Visit>
void for_each_case(Visit visit) {
  for (const DataType type : kDataTypes) {
    for (const Reduction reduction : kReductions) {
      if (!supports(BackendKind::mpi, type) || !supports(BackendKind::mpi, reduction)) continue;
      for (const int ranks : {2, 3, 4, 8}) {
        const Case c = reduction_of(type, reduction, ranks);
        SCOPED_TRACE(case_name(c));
        visit(c);
      }
    }
  }
}

TEST(HostCheck, TheReductionOfTheInputsIsRight) {
  for_each_case([](const Case& c) {
    const Verification verification = check_reduction(reduced(c), verification_pattern(c));
    EXPECT_EQ(verification.checked, kElements);
    EXPECT_EQ(verification.wrong, 0) << verification.first_wrong;
    EXPECT_EQ(verification.first_wrong, "");
    EXPECT_EQ(verification.largest_error, 0.0);
  });
}

TEST(HostCheck, AnyElementWithOneBitWrongIsFound) {
  for_each_case([](const Case& c) {
    const std::vector<std::byte> right = reduced(c);
    for (std::int64_t element = 0; element < kElements; ++element) {
      std::vector<std::byte> bent = right;
      bent[static_cast<std::size_t>(element * size_of(c.type))] ^= std::byte{1};
      const Verification verification = check_reduction(bent, verification_pattern(c));
      EXPECT_EQ(verification.wrong, 1) << element;
      EXPECT_THAT(verification.first_wrong,
                  StartsWith("element " + std::to_string(element) + ": "));
    }
  });
}

TEST(HostCheck, MemoryThatWasNeverWrittenIsWrongThroughout) {
  for_each_case([](const Case& c) {
    std::vector<std::byte> poison(static_cast<std::size_t>(c.size.value),
                                  std::byte{kernels::kPoisonByte});
    EXPECT_EQ(check_reduction(poison, verification_pattern(c)).wrong, kElements);
    EXPECT_EQ(check_input(poison, verification_pattern(c), 1).wrong, kElements);
  });
}

TEST(HostCheck, ARankLeftOutIsNoticed) {
  for_each_case([](const Case& c) {
    EXPECT_GT(check_reduction(reduced(c, c.ranks - 1), verification_pattern(c)).wrong, 0);
  });
}

TEST(HostCheck, AMessageMustBeItsSendersInput) {
  for_each_case([](const Case& c) {
    const kernels::Pattern pattern = verification_pattern(c);
    EXPECT_EQ(check_input(input_of(c, 1), pattern, 1).wrong, 0);
    EXPECT_GT(check_input(input_of(c, 0), pattern, 1).wrong, 0) << "another rank's data";
  });
}

TEST(HostCheck, NotANumberIsWrong) {
  const Case c = reduction_of(DataType::float64, Reduction::sum, 2);
  std::vector<std::byte> bent = reduced(c);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::memcpy(bent.data() + 8 * 5, &nan, sizeof nan);
  const Verification verification = check_reduction(bent, verification_pattern(c));
  EXPECT_EQ(verification.wrong, 1);
  EXPECT_THAT(verification.first_wrong, HasSubstr("element 5: nan instead of "));
}

TEST(HostCheck, SaysWhatStandsThereAndWhatShould) {
  const Case c = reduction_of(DataType::int32, Reduction::max, 2);
  std::vector<std::byte> bent = reduced(c);
  std::int32_t right = 0;
  std::memcpy(&right, bent.data() + 4 * 7, sizeof right);
  const std::int32_t wrong = right + 1000;
  std::memcpy(bent.data() + 4 * 7, &wrong, sizeof wrong);
  const Verification verification = check_reduction(bent, verification_pattern(c));
  EXPECT_EQ(verification.first_wrong,
            "element 7: " + std::to_string(wrong) + " instead of " + std::to_string(right));
  EXPECT_EQ(verification.largest_error, 1000.0);
}

}  // namespace
}  // namespace linkgain
