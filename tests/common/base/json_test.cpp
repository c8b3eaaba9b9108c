#include "linkgain/base/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace linkgain::test {
namespace {

using json::In;

template <typename T>
std::optional<T> read(const char* text) try {
  return In::parse(text).get<T>();
} catch (const In::exception&) {
  return std::nullopt;
}

TEST(WholeNumbers, AreTheirTypesOnly) {
  EXPECT_EQ(read<int>("-2147483648"), -2147483647 - 1);
  EXPECT_EQ(read<int>("2147483647"), 2147483647);
  EXPECT_EQ(read<int>("3.0"), 3);
  EXPECT_EQ(read<std::int64_t>("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(read<std::uint64_t>("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"2147483648", "-2147483649", "2147483648.0", "1e300", "-1e300", "0.5",
                           "18446744073709551615", "true", "null", "\"1\"", "[1]"}) {
    EXPECT_EQ(read<int>(text), std::nullopt) << text;
  }
  for (const char* text : {"9223372036854775808", "9223372036854775808.0", "-1e19"}) {
    EXPECT_EQ(read<std::int64_t>(text), std::nullopt) << text;
  }
  for (const char* text : {"-1", "-1.0", "18446744073709551616"}) {
    EXPECT_EQ(read<std::uint64_t>(text), std::nullopt) << text;
  }
}

TEST(WholeNumbers, AreCheckedWhereverTheyStand) {
  EXPECT_EQ(read<std::vector<int>>("[1, 2]"), (std::vector<int>{1, 2}));
  EXPECT_EQ(read<std::vector<int>>("[1, 2.5]"), std::nullopt);
  const In object = In::parse(R"({"a": 1e99, "b": 7})");
  EXPECT_THROW(json::optional_at<int>(object, "a"), In::exception);
  EXPECT_EQ(object.value("b", 0), 7);
}

}  // namespace
}  // namespace linkgain::test
