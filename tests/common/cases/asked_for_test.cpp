#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "plan_cases.hpp"

/// Options that name a parameter, and the operations that have it.
namespace linkgain {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

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
  return refusal(with_options(selection, options), 2, backend);
}

TEST(ParametersAskedFor, OfTrainingsAreNamedWhereThereIsNone) {
  SelectionOptions options;
  TrainingSelection& training = options.training;
  training.strategies = {TrainingStrategy::zero2};
  EXPECT_EQ(refusal({"all_reduce"}, options),
            "--strategy goes with gpt2_step / add --only gpt2_step, or leave it out");
  training.samples = 2;
  EXPECT_EQ(refusal({"all_reduce"}, options),
            "--strategy and --batch go with gpt2_step / add --only gpt2_step, or leave them out");
  training.models = {ModelSize::tiny};
  training.precisions = {TrainingPrecision::fp32};
  training.length = 8;
  training.dropout = 0.0;
  training.buckets = BucketRule::legacy;
  training.bucket_mib = 2;
  EXPECT_THAT(refusal({"copy_push"}, options),
              StartsWith("--model-size, --strategy, --training-precision, --batch, --sequence, "
                         "--dropout, --buckets and --bucket-mb go with gpt2_step /"));
}

TEST(ParametersAskedFor, AreRefusedWhereNoOperationHasThem) {
  const Words memory{"copy_push", "latency"};
  const std::string calls =
      " goes with all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, gather, "
      "scatter, send_recv, ping_pong / add --only all_reduce, or leave it out";
  EXPECT_EQ(refusal(memory, asking(&SelectionOptions::types, DataType::int8)), "--type" + calls);
  EXPECT_EQ(refusal(memory, asking(&SelectionOptions::types, DataType::float32)), "--type" + calls)
      << "even the usual one";
  EXPECT_EQ(refusal(memory, asking(&SelectionOptions::launch_modes, LaunchMode::graph)),
            "--launch" + calls);
  EXPECT_EQ(refusal(memory, asking(&SelectionOptions::buffers, Buffers::symmetric)),
            "--buffers" + calls);
  EXPECT_THAT(refusal({"all_gather"}, asking(&SelectionOptions::reductions, Reduction::max)),
              StartsWith("--reduction goes with all_reduce, reduce_scatter, reduce /"));
  EXPECT_THAT(refusal({"all_reduce"}, asking(&SelectionOptions::patterns, Pattern::one_way)),
              StartsWith("--pattern goes with send_recv, ping_pong, copy_push, copy_pull, "
                         "latency, load_latency / add --only send_recv,"));
  EXPECT_THAT(refusal({"send_recv"}, with(&SelectionOptions::kernels)),
              StartsWith("--kernels goes with all_reduce, copy_push, copy_pull, all_to_one, "
                         "one_to_all, host_to_device, device_to_host /"));
}

TEST(InPlace, IsRefusedWhereThereIsNoSuchForm) {
  const SelectionOptions in_place = with(&SelectionOptions::in_place);
  for (const char* operation : {"alltoall", "send_recv", "ping_pong"}) {
    for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
      EXPECT_EQ(refusal({operation}, in_place, backend),
                "--in-place goes with all_reduce, all_gather, reduce_scatter, broadcast, reduce, "
                "gather, scatter / add --only all_reduce, or leave it out");
    }
  }
}

TEST(InPlace, IsOfEveryOperationThatHasSuchAForm) {
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.operations = {OperationKind::all_reduce, OperationKind::alltoall,
                          OperationKind::send_recv};
  selection.in_place = {true};
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
        asking(&SelectionOptions::launch_modes, LaunchMode::graph),
        asking(&SelectionOptions::buffers, Buffers::symmetric),
        asking(&SelectionOptions::reductions, Reduction::max),
        asking(&SelectionOptions::patterns, Pattern::one_way), with(&SelectionOptions::in_place),
        with(&SelectionOptions::kernels)}) {
    EXPECT_EQ(refusal(some, options), "accepted");
  }
  EXPECT_EQ(refusal({"latency"}, SelectionOptions{}), "accepted") << "nothing was asked for";
}

}  // namespace
}  // namespace linkgain
