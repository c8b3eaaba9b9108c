#include "linkgain/base/json.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_node.hpp"

namespace linkgain::test {
namespace {

using json::Document;
using json::Node;
using namespace std::string_view_literals;

template <typename T>
std::optional<T> whole(const char* text) {
  return Document(text).root().whole<T>();
}

TEST(WholeNumbers, AreTheirTypesOnly) {
  EXPECT_EQ(whole<int>("-2147483648"), -2147483647 - 1);
  EXPECT_EQ(whole<int>("2147483647"), 2147483647);
  EXPECT_EQ(whole<std::int64_t>("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(whole<std::uint64_t>("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"2147483648", "-2147483649", "2147483648.0", "1e300", "-1e300", "0.5",
                           "3.0", "18446744073709551615", "true", "null", "\"1\"", "[1]"}) {
    EXPECT_EQ(whole<int>(text), std::nullopt) << text;
  }
  for (const char* text : {"9223372036854775808", "9223372036854775808.0", "-1e19"}) {
    EXPECT_EQ(whole<std::int64_t>(text), std::nullopt) << text;
  }
  for (const char* text : {"-1", "-1.0", "1e20"}) {
    EXPECT_EQ(whole<std::uint64_t>(text), std::nullopt) << text;
  }
}

TEST(WholeNumbers, AreTakenInColumnsUpToTheFirstThatIsNone) {
  const auto column = [](const char* text) {
    const Document document(text);
    std::vector<int> values;
    document.root().append_numbers_to(values);
    return values;
  };
  EXPECT_EQ(column("[1, 2]"), (std::vector<int>{1, 2}));
  EXPECT_EQ(column("[1, 2.5, 3]"), std::vector<int>{1});
  EXPECT_EQ(column("[1, 2147483648]"), std::vector<int>{1});
  EXPECT_EQ(column("[1, null, 3]"), std::vector<int>{1});
}

TEST(ParseJson, RefusesWhatIsNoDocument) {
  for (const std::string_view text :
       {""sv, "{"sv, "{\"a\": 1}}"sv, "[1,]"sv, "nan"sv, "1e400"sv, "{} {}"sv, "\"\xff\""sv}) {
    EXPECT_THROW(Document{text}, UsageError) << text;
  }
}

/// Guards against parsers that take one for the text's end and ignore what stands behind it.
TEST(ParseJson, RefusesANulWhereverItStands) {
  for (const std::string_view text :
       {"{}\0"sv, "{}\0junk"sv, "{}\0{}"sv, "\0{}"sv, "[1,\0 2]"sv, "[\"a\0b\"]"sv, "\0"sv}) {
    EXPECT_THROW(Document{text}, UsageError) << text.size();
  }
}

TEST(ParseJson, KnowsEachKind) {
  const Document document(R"({"a": [null, true, 7, 0.5, "x\u001b", {}]})");
  const auto array = document.root().find("a");
  ASSERT_TRUE(array && document.root().is_object() && array->size() == 6);
  EXPECT_FALSE(document.root().find("b"));
  json::Items items(*array);
  std::vector<Node> nodes;
  while (const auto item = items.next()) nodes.push_back(*item);
  ASSERT_EQ(nodes.size(), 6);
  const std::array kinds{Node::Kind::null,   Node::Kind::boolean, Node::Kind::whole,
                         Node::Kind::number, Node::Kind::text,    Node::Kind::object};
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(nodes[i].kind(), kinds[i]) << i;
  EXPECT_TRUE(nodes[1].boolean());
  EXPECT_EQ(nodes[2].number(), 7.0);
  EXPECT_EQ(nodes[3].number(), 0.5);
  EXPECT_EQ(nodes[4].text(), "x\x1b");
}

}  // namespace
}  // namespace linkgain::test
