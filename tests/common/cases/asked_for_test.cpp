#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "plan_cases.hpp"
#include "support/situations.hpp"

/// Options that name a parameter, and the operations that have it.
namespace linkgain::test {
namespace {

using testing::ElementsAre;

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
