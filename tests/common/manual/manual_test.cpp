#include "linkgain/manual/manual.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "linkgain/base/regular_file.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

/// A program with everything that a page or a completion tells apart.
class Manual : public ::testing::Test {
 protected:
  Manual() {
    program_.add_flag("--version", flag_, "What was built");
    program_.add_option("--internal", text_, "Not shown")->group("");
    CLI::App& measure = *program_.add_subcommand("measure", "Measure [all], it's quick: fast");
    measure.add_option("--only,-o", texts_, "Operations, .all by default")
        ->delimiter(',')
        ->type_name("OP,...");
    measure.add_option("--format", text_, "How a\\b is printed")
        ->type_name("FORMAT")
        ->group("Output");
    measure.add_option("--out", text_, "Folder")->type_name("DIR")->group("Output");
    measure.add_option("--tokens", text_, "What is read")->type_name("FILE")->required();
    measure.add_option("--np", number_, "Ranks")->default_str("2")->type_name("N");
    measure.add_flag("--quiet", flag_, "Nothing is said");
    measure.add_flag("--rates{*}", texts_, "More is better")->type_name("[=NAME]");
    measure.footer(
        "Examples:\n  linkgain measure --np 2\n\nSome more.\n.Words\nExit status:\n  0  good");
    CLI::App& show = *program_.add_subcommand("show", "Show files");
    show.add_option("files", texts_, "What is shown")->type_name("FILE")->required();
    program_.add_subcommand("secret", "Not shown")->group("");
    program_.footer("Exit status:\n  0      success");
  }

  static std::vector<std::string> words_of(const CLI::Option& option) {
    if (option.check_name("--only")) return {"all_reduce", "all_gather", "copy"};
    if (option.check_name("--format")) return {"table", "md"};
    return {};
  }

  /// What write_manual() writes there.
  std::string written(const std::string& file) const {
    write_manual(program_, words_of, share_.path());
    return read_regular_file(share_.path() / file).value();
  }

  CLI::App program_{"Measure links", "linkgain"};
  ScratchFolder share_;
  std::string text_;
  std::vector<std::string> texts_;
  int number_ = 0;
  bool flag_ = false;
};

/// A page without the version.
std::string unversioned(const std::string& page) {
  return std::regex_replace(page, std::regex("\"linkgain [0-9.]+\""), "\"linkgain\"");
}

TEST_F(Manual, OfAProgramNamesItsCommands) {
  expect_golden(unversioned(written("man/man1/linkgain.1")), "linkgain.1");
}

TEST_F(Manual, OfACommandHasItsOptionsByGroupAndItsExamples) {
  expect_golden(unversioned(written("man/man1/linkgain-measure.1")), "linkgain-measure.1");
}

TEST_F(Manual, OfACommandHasItsArguments) {
  expect_golden(unversioned(written("man/man1/linkgain-show.1")), "linkgain-show.1");
}

TEST_F(Manual, CompletesInEveryShell) {
  expect_golden(written("bash-completion/completions/linkgain"), "completion.bash");
  expect_golden(written("zsh/site-functions/_linkgain"), "completion.zsh");
  expect_golden(written("fish/vendor_completions.d/linkgain.fish"), "completion.fish");
}

TEST_F(Manual, IsWrittenWhereItIsLookedFor) {
  write_manual(program_, words_of, share_.path());
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(share_.path())) {
    if (entry.is_regular_file()) files.push_back(relative(entry.path(), share_.path()).string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files,
            (std::vector<std::string>{"bash-completion/completions/linkgain",
                                      "fish/vendor_completions.d/linkgain.fish",
                                      "man/man1/linkgain-measure.1", "man/man1/linkgain-show.1",
                                      "man/man1/linkgain.1", "zsh/site-functions/_linkgain"}));
}

}  // namespace
}  // namespace linkgain::test
