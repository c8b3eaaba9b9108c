#include "linkgain/cases/help_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HelpText, ListsArgumentsAndOptionsByGroup) {
  CLI::App app("Measures what a bridge brings, and says how sure that is, in few words.",
               "measure");
  std::vector<std::string> files;
  std::string text;
  int number = 3;
  app.add_option("record", text, "A record to begin with")->required();
  app.add_option("more", files, "Others");
  app.option_defaults()->group(option_group::kOutput);
  app.add_option("--a-file-of-a-long-name", text, "A head too long for its column");
  app.option_defaults()->group("Others");
  app.add_option("-z", text, "It has no long name");
  app.option_defaults()->group(option_group::kWhat);
  app.add_option("--needed", text, "It must be there")->required()->type_name("NAME");
  app.add_option("-n,--number", number, "How many there are")
      ->default_str("3")
      ->check(CLI::Range(1, 8));
  app.add_flag("--rates{yes}", text, "What a flag without a value stands for is not shown");
  app.option_defaults()->group("");
  app.add_option("--hidden", text, "Of no group");
  app.footer("A footer\n  as it stands.");
  expect_golden(help_text(app), "help_of_options.txt");
}

TEST(HelpText, ListsCommandsWithTheirPurpose) {
  CLI::App app("A program of many commands.", "linkgain");
  app.require_subcommand(0, 1);
  CLI::App* const command = app.add_subcommand("compare", "Holds two records side by side");
  app.add_subcommand("topo", "Draws the machine");
  expect_golden(help_text(app), "help_of_commands.txt");
  EXPECT_THAT(help_text(*command), HasSubstr("Usage: linkgain compare [OPTIONS]\n"));
  EXPECT_THAT(help_text(*command), Not(HasSubstr("Commands:")));
}

}  // namespace
}  // namespace linkgain::test
