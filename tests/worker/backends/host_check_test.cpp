#include "mpi/host_check.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "linkgain/runtime/fault.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kElements = 97;  // no multiple of any vector width

Verification check_reduction(std::span<const std::byte> bytes, const kernels::Pattern& pattern) {
  return check_part(bytes, pattern, {.count = kElements});
}

Verification check_input(std::span<const std::byte> bytes, const kernels::Pattern& pattern,
                         int sender) {
  return check_part(bytes, pattern, {.count = kElements, .source = sender});
}

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
    case Reduction::mulsum:
      break;
  }
  throw std::logic_error("no such reduction here");
}

/// Reduces the inputs of the first `ranks`, and depends on nothing else.
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
  for (const DataType type : kValues<DataType>) {
    for (const Reduction reduction : kValues<Reduction>) {
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
  EXPECT_THAT(verification.first_wrong, AllOf(HasSubstr("element 5"), HasSubstr("nan")));
}

TEST(HostCheck, SaysWhatStandsThereAndWhatShould) {
  const Case c = reduction_of(DataType::int32, Reduction::max, 2);
  std::vector<std::byte> bent = reduced(c);
  std::int32_t right = 0;
  std::memcpy(&right, bent.data() + 4 * 7, sizeof right);
  const std::int32_t wrong = right + 1000;
  std::memcpy(bent.data() + 4 * 7, &wrong, sizeof wrong);
  const Verification verification = check_reduction(bent, verification_pattern(c));
  expect_golden(
      with_replaced(with_replaced(verification.first_wrong, std::to_string(wrong), "WRONG"),
                    std::to_string(right), "RIGHT") +
          "\n",
      "first_wrong.txt");
  EXPECT_EQ(verification.largest_error, 1000.0);
}

/// Joins two ranks' inputs, each from its fourth element on.
std::vector<std::byte> second_parts(const Case& c) {
  std::vector<std::byte> all;
  for (const int rank : {0, 1}) {
    const std::vector<std::byte> input = input_of(c, rank);
    all.insert(all.end(), input.begin() + 4 * size_of(c.type), input.end());
  }
  return all;
}

TEST(HostCheck, PartsAreCheckedEachAgainstItsOwn) {
  const Case c = reduction_of(DataType::int32, Reduction::max, 2);
  const kernels::Pattern pattern = verification_pattern(c);
  constexpr std::int64_t kCount = kElements - 4;
  const std::vector<ExpectedPart> parts{{0, kCount, 4, 0}, {kCount, kCount, 4, 1}};
  std::vector<std::byte> output = second_parts(c);
  const Verification right = check_parts(output, pattern, parts);
  EXPECT_EQ(right.checked, 2 * kCount);
  EXPECT_EQ(right.wrong, 0) << right.first_wrong;
  output[4 * (kCount + 2)] ^= std::byte{1};
  const Verification wrong = check_parts(output, pattern, parts);
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_THAT(wrong.first_wrong, StartsWith("element " + std::to_string(kCount + 2) + ": "));
  EXPECT_EQ(wrong.largest_error, 1.0);
  EXPECT_GT(check_parts(second_parts(c), pattern, {{0, kCount, 0, 0}}).wrong, 0) << "other indices";
  EXPECT_GT(check_parts(second_parts(c), pattern, {{0, kCount, 4, 1}}).wrong, 0) << "other rank";
}

TEST(HostCheck, APartOfAReductionBeginsAtItsIndex) {
  const Case c = reduction_of(DataType::float64, Reduction::sum, 3);
  const std::vector<std::byte> all = reduced(c);
  const std::vector<std::byte> part(all.begin() + 8 * 10, all.begin() + 8 * 20);
  const kernels::Pattern pattern = verification_pattern(c);
  EXPECT_EQ(check_part(part, pattern, {.count = 10, .first_index = 10}).wrong, 0);
  EXPECT_GT(check_part(part, pattern, {.count = 10, .first_index = 0}).wrong, 0);
}

TEST(HostCheck, FindsWhatWasLeftInPlace) {
  Case c = reduction_of(DataType::float32, Reduction::sum, 3);
  c.size = Bytes{std::int64_t{3} * kElements * size_of(c.type)};
  c.in_place = true;
  for (const OperationKind operation : {OperationKind::send_recv, OperationKind::alltoall}) {
    c.operation = operation;
    const std::vector<std::byte> own = input_of(c, 1);
    const Verification found = check_parts(own, verification_pattern(c), expected_parts(c, 1));
    EXPECT_EQ(found.checked, 3 * kElements);
    // In alltoall a rank's own part stays where it is.
    const std::int64_t others = operation == OperationKind::alltoall ? 2 : 3;
    EXPECT_GT(found.wrong, others * kElements / 2) << name_of(operation);
    EXPECT_LE(found.wrong, others * kElements) << name_of(operation);
  }
}

TEST(Spoil, IsFoundInEveryTypeAndPart) {
  const std::vector<ExpectedPart> parts{{.begin = 0, .count = 40, .source = 0},
                                        {.begin = 40, .count = 57, .source = 1}};
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::int8, DataType::uint8, DataType::int64}) {
    const Case c = reduction_of(type, Reduction::sum, 2);
    const Bytes element{size_of(type)};
    const auto bytes_of = [&](std::vector<std::byte>& output, const ExpectedPart& part) {
      return std::span(output).subspan(static_cast<std::size_t>(part.begin * element.value),
                                       static_cast<std::size_t>(part.count * element.value));
    };
    std::vector<std::byte> right(static_cast<std::size_t>(c.size.value));
    for (const ExpectedPart& part : parts) {
      fill_input(bytes_of(right, part), verification_pattern(c), part.source);
    }
    ASSERT_EQ(check_parts(right, verification_pattern(c), parts).wrong, 0);
    for (const Spoil spoil : {Spoil::bit, Spoil::element, Spoil::last}) {
      std::vector<std::byte> wrong = right;
      spoil_part(bytes_of(wrong, spoil == Spoil::last ? parts.back() : parts.front()), element,
                 spoil);
      EXPECT_EQ(check_parts(wrong, verification_pattern(c), parts).wrong, 1) << name_of(type);
    }
    std::vector<std::byte> wrong = right;
    spoil_part(bytes_of(wrong, parts.front()), element, Spoil::swapped);
    EXPECT_GT(check_parts(wrong, verification_pattern(c), parts).wrong, 10) << name_of(type);
  }
}

}  // namespace
}  // namespace linkgain::test
