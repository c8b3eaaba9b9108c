#include "linkgain/base/json.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "linkgain/base/errors.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

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
  EXPECT_THROW(object.at("a").get<int>(), In::exception);
  EXPECT_EQ(object.value("b", 0), 7);
}

std::string refusal(const char* text) {
  return refusal_of([&] { json::parse(text); });
}

TEST(ParseJson, RefusesAMemberThatStandsTwiceInAnObject) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"c": 2, "c": 3}})"), HasSubstr("'c' twice"));
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"a": 2}, "a": 3})"), HasSubstr("'a' twice"));
  EXPECT_EQ(refusal(R"({"a": {"a": [{"a": 1}, {"a": 2}]}, "b": {"a": 1}})"), "accepted");
  EXPECT_THAT(refusal(R"({"a\u001b": 1})"), HasSubstr("'a\\x1b' is no text"));
}

/// The library takes one for the end of the text, and says nothing of what stands behind it.
TEST(ParseJson, RefusesANulWhereverItStands) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"{}\0"sv, "{}\0junk"sv, "{}\0{}"sv, "\0{}"sv, "[1,\0 2]"sv, "[\"a\0b\"]"sv, "\0"sv}) {
    EXPECT_THROW(json::parse(text), json::In::parse_error);
  }
}

TEST(ParseJson, ShowsControlCharactersInTexts) {
  const json::In document = json::parse(R"({"a": ["\u001bx", {"b": "c\u202ed\ne"}]})");
  EXPECT_EQ(document.at("a").at(0), "\\x1bx");
  EXPECT_EQ(document.at("a").at(1).at("b"), "c\\u202ed\ne");
}

TEST(ParseJson, CutsTextsThatNobodyReads) {
  const std::string text = "[\"" + std::string(100'000, 'x') + "\"]";
  EXPECT_EQ(json::parse(text).at(0), std::string(65'536, 'x'));
}

TEST(ParseJson, RefusesWhatTakesMuchMoreMemoryThanRecordsDo) {
  const json::DocumentLimits few{.values = 6, .parts = 4};
  for (const char* text : {"[1, 2, 3, 4, 5]", R"({"a": [], "b": null})", "[[[[]]]]",
                           R"(["a", "b", "c"])", R"([{}, {}, "a"])"}) {
    EXPECT_NO_THROW(json::parse(text, few)) << text;
  }
  Situations answers;
  answers.refuse_each({"[1, 2, 3, 4, 5, 6]", "[true, null, 1.5, -1, 2, 1e9]", "[[[[[]]]]]",
                       R"([[], {}, [], {}])", R"({"a": 1, "b": 2, "c": 3, "d": 4})",
                       R"({"a": {"b": 1}, "c": 2})", R"(["a", "b", "c", "d"])"},
                      [&](const char* text) { json::parse(text, few); });
  answers.expect_golden("documents_too_large.txt");
}

TEST(ParseJson, MayReadTenTimesTheLargestRecordInResults) {
  std::ifstream file(RESULTS_FOLDER "/2xH200-full/record.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const json::DocumentLimits most;
  EXPECT_NO_THROW(json::parse(text, {.values = most.values / 10, .parts = most.parts / 10}));
}

TEST(ParseJson, LeavesWhatIsNoJsonToTheLibrary) {
  for (const char* text : {"", "{", "{\"a\": 1}}", "[1,]", "nan"}) {
    EXPECT_THROW(json::parse(text), json::In::parse_error) << text;
  }
  EXPECT_THROW(json::parse("1e400"), json::In::out_of_range);
}

}  // namespace
}  // namespace linkgain::test
