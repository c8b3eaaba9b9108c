#include "linkgain/base/json_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_library.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

std::string refusal(const char* text) {
  try {
    json::parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ParseJson, RefusesAMemberThatStandsTwiceInAnObject) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"c": 2, "c": 3}})"), HasSubstr("'c' twice"));
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"a": 2}, "a": 3})"), HasSubstr("'a' twice"));
  EXPECT_EQ(refusal(R"({"a": {"a": [{"a": 1}, {"a": 2}]}, "b": {"a": 1}})"), "accepted");
  EXPECT_THAT(refusal(R"({"a\u001b": 1})"), HasSubstr("'a\\x1b' is no text"));
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

TEST(ParseJson, LeavesWhatIsNoJsonToTheLibrary) {
  for (const char* text : {"", "{", "{\"a\": 1}}", "[1,]", "nan"}) {
    EXPECT_THROW(json::parse(text), json::In::parse_error) << text;
  }
  EXPECT_THROW(json::parse("1e400"), json::In::out_of_range);
}

}  // namespace
}  // namespace linkgain::test
