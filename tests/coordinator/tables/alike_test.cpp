#include "linkgain/tables/alike.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain {
namespace {

using ::testing::ElementsAre;

/// The members of each group, one after the other.
std::vector<std::string> groups_of(const std::vector<std::string>& words) {
  std::vector<const std::string*> items;
  for (const std::string& word : words) items.push_back(&word);
  std::vector<std::string> texts;
  const auto first_letter = [](const std::string& word) {
    return word[0] == '-' ? std::string() : word.substr(0, 1);
  };
  for (const auto& group : grouped(items, first_letter)) {
    std::string text;
    for (const std::string* item : group) text += *item;
    texts.push_back(text);
  }
  return texts;
}

TEST(Grouped, PutsThreeOrMoreInThePlaceOfTheFirst) {
  EXPECT_THAT(groups_of({"b1", "a1", "c1", "a2", "b2", "a3", "a4"}),
              ElementsAre("b1", "a1a2a3a4", "c1", "b2"));
}

TEST(Grouped, LeavesAloneWhatHasNoKey) {
  EXPECT_THAT(groups_of({"-1", "-2", "-3"}), ElementsAre("-1", "-2", "-3"));
}

TEST(FirstFew, CountsTheRest) {
  EXPECT_EQ(first_few({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(first_few({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
}

}  // namespace
}  // namespace linkgain
