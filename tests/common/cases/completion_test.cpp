#include "linkgain/cases/completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A program with everything that completion tells apart.
class Completions : public testing::Test {
 protected:
  Completions() {
    program_.add_flag("--version", flag_, "What was built");
    CLI::App& measure = *program_.add_subcommand("measure", "Measure");
    measure.add_option("--only,-o", texts_, "Operations")->delimiter(',')->type_name("OP,...");
    measure.add_option("--format", text_, "How it is printed")->type_name("FORMAT");
    measure.add_option("--out", text_, "Folder")->type_name("DIR");
    measure.add_option("--internal", text_, "Not shown")->group("");
    measure.add_flag("--rates{*}", texts_, "More is better")->type_name("[=NAME]");
    CLI::App& show = *program_.add_subcommand("show", "Show");
    show.add_option("files", texts_, "What is shown")->type_name("FILE");
    program_.add_subcommand("melt", "Melt");
  }

  std::vector<std::string> behind(const std::vector<std::string>& words) const {
    std::istringstream text(completions(program_, words, [](const CLI::Option& option) {
      if (option.check_name("--only")) return std::vector<std::string>{"gather", "get", "copy"};
      if (option.check_name("--format")) return std::vector<std::string>{"table", "md"};
      return std::vector<std::string>{};
    }));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

 private:
  CLI::App program_{"Measure links", "linkgain"};
  std::string text_;
  std::vector<std::string> texts_;
  bool flag_ = false;
};

TEST_F(Completions, OfAProgramAreItsCommandsAndOptions) {
  EXPECT_THAT(behind({}), ElementsAre("measure\tMeasure", "show\tShow", "melt\tMelt"));
  EXPECT_THAT(behind({"me"}), ElementsAre("measure\tMeasure", "melt\tMelt"));
  EXPECT_THAT(behind({"--v"}), ElementsAre("--version\tWhat was built"));
}

TEST_F(Completions, OfACommandAreItsOptionsButHiddenOnes) {
  EXPECT_THAT(behind({"measure", "--o"}), ElementsAre("--only\tOperations", "--out\tFolder"));
  EXPECT_THAT(behind({"measure", "-o"}), ElementsAre("-o\tOperations"));
  EXPECT_THAT(behind({"measure", "--int"}), IsEmpty());
}

TEST_F(Completions, OfAnOptionAreItsWords) {
  EXPECT_THAT(behind({"measure", "--format", ""}), ElementsAre("table", "md"));
  EXPECT_THAT(behind({"measure", "--format", "m"}), ElementsAre("md"));
  EXPECT_THAT(behind({"measure", "--format=t"}), ElementsAre("table"));
  EXPECT_THAT(behind({"measure", "--nope=t"}), IsEmpty());
}

TEST_F(Completions, OfAListContinueIt) {
  EXPECT_THAT(behind({"measure", "-o", "copy,ge"}), ElementsAre("copy,get"));
  EXPECT_THAT(behind({"measure", "--only", "copy,g"}), ElementsAre("copy,gather", "copy,get"));
}

TEST_F(Completions, OfFilesAndFoldersAreTheirKind) {
  EXPECT_THAT(behind({"measure", "--out", ""}), ElementsAre(":folders"));
  EXPECT_THAT(behind({"measure", "--format", "./m"}), ElementsAre(":files"));
  EXPECT_THAT(behind({"show", "a", ""}), ElementsAre(":files"));
}

TEST_F(Completions, BehindAFlagAreThoseOfTheCommand) {
  EXPECT_THAT(behind({"show", "--rates", ""}), ElementsAre(":files"));
  EXPECT_THAT(behind({"measure", "--rates", "x"}), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
