#include "linkgain/base/data_type.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(DataTypes, HaveTheSizeThatTheirNameSays) {
  EXPECT_EQ(size_of(DataType::bfloat16), 2);
  for (const DataType type : kDataTypes) {
    const std::string name(name_of(type));
    // The first digits of a name are its bits: float8e4m3 has 8.
    const int bits = std::stoi(name.substr(name.find_first_of("0123456789")));
    EXPECT_EQ(size_of(type) * 8, bits) << name;
  }
}

TEST(DataTypes, AreReadBackFromTheirDistinctNames) {
  std::set<std::string_view> names;
  for (const DataType type : kDataTypes) {
    EXPECT_EQ(parse_data_type(name_of(type)), type);
    names.insert(name_of(type));
  }
  EXPECT_EQ(names.size(), kDataTypes.size());
  EXPECT_EQ(names.size(), 12U);
}

TEST(DataTypes, AreReadBackFromTheirNamesInNcclTests) {
  for (const DataType type : kDataTypes) {
    EXPECT_EQ(parse_nccl_tests_type(nccl_tests_name(type)), type);
  }
  EXPECT_EQ(nccl_tests_name(DataType::float16), "half");
  EXPECT_EQ(nccl_tests_name(DataType::bfloat16), "bfloat16");
  EXPECT_THROW(parse_nccl_tests_type("float16"), UsageError) << "which is ours";
}

TEST(Reductions, AreReadBackFromTheirNames) {
  for (const Reduction reduction : kReductions) {
    EXPECT_EQ(parse_reduction(name_of(reduction)), reduction);
  }
  EXPECT_EQ(name_of(Reduction::avg), "avg");
}

TEST(DataTypesAndReductions, RefuseOtherNamesWithTheNearest) {
  Situations answers;
  answers.refuse_each({"bfloat61", "Float32", ""}, parse_data_type);
  answers.refuse_each({"mxa"}, parse_reduction);
  answers.expect_golden("names_refused.txt");
}

}  // namespace
}  // namespace linkgain::test
