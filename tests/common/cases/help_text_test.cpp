#include "linkgain/cases/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <array>
#include <sstream>
#include <vector>

#include "linkgain/cases/completion.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "plan_cases.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(HelpText, ListsArgumentsAndOptionsByGroup) {
  CLI::App app(
      "Measures what a bridge brings, and says how sure that is, in few words.\n"
      "What it does in detail stands here, between the usage and the arguments, in as many lines "
      "as it needs.",
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

TEST(HelpText, ListsTheExitStatusesOfACommand) {
  using enum ExitCode;
  const std::array<ExitStatus, 3> statuses{
      {incomplete, machine_cannot, {inconclusive, "no common case"}}};
  expect_golden(exit_status_text(statuses), "exit_statuses.txt");
}

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

// Options that name a parameter, and the operations that have it.

using Words = std::vector<std::string>;

template <typename Value>
SelectionOptions asking(std::vector<Value> SelectionOptions::*option, Value value) {
  SelectionOptions options;
  options.*option = {value};
  return options;
}

SelectionOptions with(bool SelectionOptions::*flag) {
  SelectionOptions options;
  options.*flag = true;
  return options;
}

std::string refusal(const Words& only, const SelectionOptions& options,
                    BackendKind backend = BackendKind::nccl) {
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.operations = parse_each<OperationKind>(only, parse_operation);
  return refusal_of([&] { expand({with_options(selection, options)}, 2, backend); });
}

TEST(ParametersAskedFor, AreRefusedWhereNoOperationHasThem) {
  Situations answers;
  const auto ask = [&](const Words& only, const std::string& asked,
                       const SelectionOptions& options) {
    answers.add(fmt::format("--only {} {}", fmt::join(only, ","), asked), refusal(only, options));
  };
  answers.about("of calls of a library");
  const Words memory{"copy_push", "latency"};
  ask(memory, "--type int8", asking(&SelectionOptions::types, DataType::int8));
  ask(memory, "--type float32 (the usual one)",
      asking(&SelectionOptions::types, DataType::float32));
  ask(memory, "--launch-mode graph", asking(&SelectionOptions::launch_modes, LaunchChoice::graph));
  ask(memory, "--buffers symmetric", asking(&SelectionOptions::buffers, Buffers::symmetric));
  answers.about("of some operations");
  ask({"all_gather"}, "--reduction max", asking(&SelectionOptions::reductions, Reduction::max));
  ask({"all_reduce"}, "--pattern one-way", asking(&SelectionOptions::patterns, Pattern::one_way));
  ask({"send_recv"}, "--kernels", with(&SelectionOptions::kernels));
  for (const char* operation : {"alltoall", "send_recv", "ping_pong"}) {
    const SelectionOptions in_place = with(&SelectionOptions::in_place);
    ask({operation}, "--in-place", in_place);
    EXPECT_EQ(refusal({operation}, in_place, BackendKind::mpi), refusal({operation}, in_place));
  }
  answers.about("of trainings");
  SelectionOptions options;
  TrainingSelection& training = options.training;
  training.strategies = {TrainingStrategy::zero2};
  ask({"all_reduce"}, "--strategy", options);
  training.samples = 2;
  ask({"all_reduce"}, "and --batch", options);
  training.models = {ModelSize::tiny};
  training.precisions = {TrainingPrecision::fp32};
  training.length = 8;
  training.dropout = 0.0;
  training.buckets = BucketRule::legacy;
  training.bucket_mib = 2;
  ask({"copy_push"}, "and all others", options);
  answers.expect_golden("options_asked_for.txt");
}

TEST(InPlace, IsOfEveryOperationThatHasSuchAForm) {
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.operations = {OperationKind::all_reduce, OperationKind::alltoall,
                          OperationKind::send_recv};
  selection.in_place = {true};
  selection.launches = {LaunchChoice::stream};
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    EXPECT_THAT(names_of(expand({selection}, 2, backend)),
                ElementsAre("all_reduce/float32/sum/1KiB/np2/inplace", "alltoall/float32/1KiB/np2",
                            "send_recv/float32/1KiB/np2"))
        << "alltoall was not asked for alone";
  }
}

TEST(ParametersAskedFor, NeedOneOperationThatHasThem) {
  const Words some{"copy_push", "all_reduce"};
  for (const SelectionOptions& options :
       {SelectionOptions{}, asking(&SelectionOptions::types, DataType::int8),
        asking(&SelectionOptions::launch_modes, LaunchChoice::graph),
        asking(&SelectionOptions::buffers, Buffers::symmetric),
        asking(&SelectionOptions::reductions, Reduction::max),
        asking(&SelectionOptions::patterns, Pattern::one_way), with(&SelectionOptions::in_place),
        with(&SelectionOptions::kernels)}) {
    EXPECT_EQ(refusal(some, options), "accepted");
  }
  EXPECT_EQ(refusal({"latency"}, SelectionOptions{}), "accepted") << "nothing was asked for";
}

}  // namespace
}  // namespace linkgain::test
