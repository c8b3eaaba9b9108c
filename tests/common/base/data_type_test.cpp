#include "linkgain/base/data_type.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST(DataTypes, RefuseOtherNamesWithTheNearest) {
  EXPECT_THAT([] { parse_data_type("bfloat61"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("unknown data type 'bfloat61'"),
                                              HasSubstr("did you mean bfloat16?"),
                                              HasSubstr("float8e5m2"))));
  EXPECT_THROW(parse_data_type("Float32"), UsageError);
  EXPECT_THROW(parse_data_type(""), UsageError);
}

TEST(Reductions, AreReadBackFromTheirNames) {
  for (const Reduction reduction : kReductions) {
    EXPECT_EQ(parse_reduction(name_of(reduction)), reduction);
  }
  EXPECT_EQ(name_of(Reduction::avg), "avg");
}

TEST(Reductions, RefuseOtherNamesWithTheNearest) {
  EXPECT_THAT([] { parse_reduction("mxa"); },
              ThrowsMessage<UsageError>("unknown reduction 'mxa': did you mean max? (sum, prod, "
                                        "min, max, avg, mulsum)"));
}

}  // namespace
}  // namespace linkgain
