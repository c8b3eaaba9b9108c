#include "linkgain/cases/profiles.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/cases/option_parsers.hpp"

/// What the profiles contain.
namespace linkgain {
namespace {

Selection size_sweep(OperationKind operation, std::string_view sizes) {
  Selection selection;
  selection.operations = {operation};
  selection.sizes = parse_sizes(sizes);
  return selection;
}

std::vector<DataType> types_of(BackendKind backend) {
  std::vector<DataType> types;
  for (const DataType type : kValues<DataType>) {
    if (supports(backend, type)) types.push_back(type);
  }
  return types;
}

std::vector<Reduction> reductions_of(BackendKind backend) {
  std::vector<Reduction> reductions;
  for (const Reduction reduction : kValues<Reduction>) {
    if (supports(backend, reduction)) reductions.push_back(reduction);
  }
  return reductions;
}

/// Returns every type with every reduction at one size in the latency range and one in the
/// bandwidth range.
Selection all_types(BackendKind backend) {
  Selection selection = size_sweep(OperationKind::all_reduce, "64K,16M");
  selection.types = types_of(backend);
  selection.reductions = reductions_of(backend);
  return selection;
}

/// Returns our own all-reduce kernels for the types of 16 bits, which stand beside NCCL's of
/// all_types().
Selection short_kernels() {
  Selection selection = size_sweep(OperationKind::all_reduce, "64K,16M");
  selection.types = {DataType::float16, DataType::bfloat16};
  selection.kernels = {true};
  return selection;
}

/// Returns every pair of ranks, each way alone and both at once.
Selection pair_matrix(BackendKind backend) {
  Selection pairs =
      size_sweep(OperationKind::send_recv, backend == BackendKind::nccl ? "256M" : "64M");
  pairs.patterns = {Pattern::one_way, Pattern::both_ways};
  return pairs;
}

/// Returns copies between the first two ranks, each way alone and both at once, by copy engine.
Selection usual_copies(OperationKind operation, std::string_view sizes) {
  Selection copies = size_sweep(operation, sizes);
  copies.patterns = {Pattern::one_way, Pattern::both_ways};
  copies.pair = Pair{};
  return copies;
}

Selection all_pairs_of(OperationKind operation, std::string_view sizes,
                       std::vector<Pattern> patterns) {
  Selection pairs = size_sweep(operation, sizes);
  pairs.patterns = std::move(patterns);
  if (is_copy(operation)) pairs.kernels = {false, true};
  return pairs;
}

/// Returns what works on memory of the GPUs: curves between two of them, every pair, one against
/// all, and the copies to and from the host.
std::vector<Selection> memory_work() {
  const std::vector<Pattern> both{Pattern::one_way, Pattern::both_ways};
  std::vector<Selection> all;
  for (const OperationKind operation : {OperationKind::copy_push, OperationKind::copy_pull}) {
    all.push_back(usual_selection(operation, BackendKind::nccl));
    all.push_back(all_pairs_of(operation, "256M", both));
  }
  for (const OperationKind operation : {OperationKind::latency, OperationKind::load_latency}) {
    all.push_back(usual_selection(operation, BackendKind::nccl));
    all.push_back(all_pairs_of(operation, operation == OperationKind::latency ? "8" : "2M",
                               {Pattern::one_way}));
  }
  for (const OperationKind operation :
       {OperationKind::all_to_one, OperationKind::one_to_all, OperationKind::host_to_device,
        OperationKind::device_to_host}) {
    Selection copies = size_sweep(operation, "256M");
    copies.kernels = {false, true};
    all.push_back(copies);
  }
  return all;
}

/// Returns both at every size, so that each has a whole curve.
std::vector<LaunchChoice> launches_of(BackendKind backend) {
  if (!supports(backend, LaunchMode::graph)) return {LaunchChoice::stream};
  return {LaunchChoice::stream, LaunchChoice::graph};
}

/// Adds registered and symmetric memory; the plain one is measured anyway, and to NCCL memory that
/// it only allocated differs from that under graph capture alone.
void add_buffers(std::vector<Selection>& all, OperationKind operation, BackendKind backend,
                 std::string_view two_sizes) {
  Selection selection = size_sweep(operation, two_sizes);
  selection.buffers.clear();
  for (const Buffers buffers : {Buffers::registered, Buffers::symmetric}) {
    if (supports(backend, buffers)) selection.buffers.push_back(buffers);
  }
  if (!selection.buffers.empty()) all.push_back(selection);
}

/// Adds what an operation beside the default profile's can be: a size sweep by stream and graph,
/// and at a few sizes every type, reduction, place, root and kind of memory.
void add_operation(std::vector<Selection>& all, OperationKind operation, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  const std::string_view two_sizes = gpu ? "64K,256M" : "64K,16M";
  const bool latency = operation == OperationKind::ping_pong;
  Selection sizes = size_sweep(operation, gpu ? "16:1G:x64" : "16:64M:x64");
  if (latency) sizes = usual_selection(operation, backend);
  sizes.launches = launches_of(backend);
  Selection types = size_sweep(operation, "64K");
  types.types = types_of(backend);
  all.insert(all.end(), {sizes, types});
  if (has_reduction(operation)) {
    Selection reductions = size_sweep(operation, "64K");
    reductions.reductions = reductions_of(backend);
    all.push_back(reductions);
  }
  if (supports_in_place(operation)) {
    Selection in_place = size_sweep(operation, two_sizes);
    in_place.in_place = {true};
    all.push_back(in_place);
  }
  if (has_root(operation)) {
    Selection root = size_sweep(operation, two_sizes);
    root.roots = {1};
    all.push_back(root);
  }
  add_buffers(all, operation, backend, latency ? "8,64K" : two_sizes);
}

/// Takes own work leniently: a profile is not refused for what some of its operations cannot do.
ProfilePlan with_lenient_own_work(ProfilePlan plan) {
  for (Selection& selection : plan.selections) {
    selection.where_possible =
        is_in_decoder(selection) ||
        std::ranges::all_of(selection.operations, [](OperationKind operation) {
          return works_on_memory(operation) || is_training(operation);
        });
  }
  return plan;
}

/// Returns the training in the precision in which people train, and in the guide's.
Selection usual_training(BackendKind backend) {
  Selection selection;
  selection.operations = {OperationKind::gpt2_step};
  if (backend == BackendKind::nccl) {
    selection.training.precisions = {TrainingPrecision::bf16, TrainingPrecision::fp32};
  }
  return selection;
}

/// Returns every strategy in every precision: the guide's claim that links matter more the more
/// often ranks synchronise.
Selection all_trainings(BackendKind backend) {
  Selection selection = usual_training(backend);
  selection.training.strategies = {TrainingStrategy::ddp, TrainingStrategy::zero2,
                                   TrainingStrategy::zero3};
  if (backend == BackendKind::nccl) {
    selection.training.precisions = {TrainingPrecision::fp32, TrainingPrecision::tf32,
                                     TrainingPrecision::bf16};
  }
  return selection;
}

/// Returns every power of two, as a change of protocol is found between neighbouring sizes.
Selection every_power_of_two(BackendKind backend) {
  Selection reduce = size_sweep(OperationKind::all_reduce,
                                backend == BackendKind::nccl ? "16:1G:x2" : "16:64M:x2");
  reduce.launches = launches_of(backend);
  return reduce;
}

ProfilePlan full_plan(BackendKind backend) {
  ProfilePlan plan;
  plan.launches = 8;
  plan.budget = Seconds{900};
  Selection reduce = usual_selection(OperationKind::all_reduce, backend);
  Selection exchange = usual_selection(OperationKind::send_recv, backend);
  reduce.launches = exchange.launches = launches_of(backend);
  reduce.in_place = {false, true};
  if (backend == BackendKind::nccl) reduce.kernels = {false, true};
  plan.selections = {all_trainings(backend),      reduce,
                     every_power_of_two(backend), exchange,
                     pair_matrix(backend),        all_types(backend)};
  if (backend == BackendKind::nccl) {
    plan.selections.push_back(short_kernels());
    const std::vector<Selection> memory = memory_work();
    plan.selections.insert(plan.selections.end(), memory.begin(), memory.end());
  }
  for (const OperationKind operation : kOperations) {
    if (!calls_library(operation)) continue;
    const bool in_default =
        operation == OperationKind::all_reduce || operation == OperationKind::send_recv;
    if (in_default) {
      add_buffers(plan.selections, operation, backend, "64K,256M");
    } else {
      add_operation(plan.selections, operation, backend);
    }
  }
  return plan;
}

/// Plans what is run before and after a bridge is fitted: what it changes most, in as many launches
/// as tell small changes, within a minute.
ProfilePlan bridge_plan(BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  ProfilePlan plan;
  plan.launches = 8;
  plan.budget = Seconds{50};
  plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,1M,256M" : "8,1M,64M"),
                     size_sweep(OperationKind::send_recv, gpu ? "256M" : "64M")};
  if (gpu) plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
  return plan;
}

/// Returns what one layer of a model that is split over the GPUs does with rows of so many
/// elements: a sum of bfloat16 between a product and a norm for a token of each of 1, 8 and 64
/// sequences and for prompts, and these two alone.
std::vector<Selection> layer_work(int hidden) {
  Selection sum;
  sum.hidden = {hidden};
  sum.sizes = decoder_sizes({hidden});
  sum.types = {DataType::bfloat16};
  Selection alone = sum;
  alone.operations = {OperationKind::product_norm};
  return {sum, alone};
}

/// Plans what models that are split over the GPUs send: layer_work() of three widths, summed by
/// NCCL, in its symmetric memory too, and by our own kernels; and the same sums back to back.
/// Without GPUs as many bytes back to back.
ProfilePlan inference_plan(BackendKind backend) {
  const std::vector<int> rows{2048, 4096, 8192};
  ProfilePlan plan;
  plan.launches = 4;
  plan.adds_launches = false;
  Selection back_to_back;
  back_to_back.sizes = decoder_sizes(rows);
  if (backend == BackendKind::mpi) {
    plan.selections = {back_to_back};
    return plan;
  }
  back_to_back.types = {DataType::bfloat16};
  back_to_back.kernels = {false, true};
  back_to_back.launches = {LaunchChoice::graph};
  for (const int hidden : rows) {
    std::vector<Selection> work = layer_work(hidden);
    for (Selection& each : work) each.kernels = back_to_back.kernels;
    work.front().buffers = {Buffers::plain, Buffers::symmetric};
    plan.selections.insert(plan.selections.end(), work.begin(), work.end());
  }
  plan.selections.push_back(back_to_back);
  return plan;
}

/// Returns what every link carries, once large and once small, again and again: each pair of GPUs
/// has a time of its own, by which a link that degrades is found.
ProfilePlan soak_plan(BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  ProfilePlan plan;
  plan.budget = Seconds{3600};
  Selection pairs = size_sweep(OperationKind::send_recv, gpu ? "256M" : "4M");
  pairs.patterns = {Pattern::both_ways};
  plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,256M" : "8,4M"), pairs};
  if (gpu) {
    Selection copies = size_sweep(OperationKind::copy_push, "256M");
    copies.patterns = {Pattern::both_ways};
    plan.selections.push_back(copies);
  }
  return plan;
}

}  // namespace

Selection usual_selection(OperationKind operation, BackendKind backend) {
  // What is bound by latency has nothing more to show at large sizes.
  if (operation == OperationKind::ping_pong) return size_sweep(operation, "8:1M:x8");
  if (operation == OperationKind::latency) return size_sweep(operation, "8:64K:x8");
  if (operation == OperationKind::load_latency) return size_sweep(operation, "64K,2M,64M");
  if (is_training(operation)) return usual_training(backend);
  if (operation == OperationKind::product_norm) {
    Selection products = size_sweep(operation, "8K,64K,512K,4M,32M");
    products.hidden = {4096};
    products.types = {DataType::bfloat16};
    return products;
  }
  if (works_on_memory(operation)) {
    Selection copies = has_pair(operation) ? usual_copies(operation, "64K:1G:x16")
                                           : size_sweep(operation, "64K:1G:x16");
    copies.kernels = {false, true};
    return copies;
  }
  const bool gpu = backend == BackendKind::nccl;
  if (operation == OperationKind::send_recv) {
    return size_sweep(operation, gpu ? "16:1G:x16" : "16:64M:x16");
  }
  return size_sweep(operation, gpu ? "16:1G:x4" : "16:64M:x4");
}

ProfilePlan plan_of(Profile profile, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  const Selection all_reduce = usual_selection(OperationKind::all_reduce, backend);
  const Selection send_recv = usual_selection(OperationKind::send_recv, backend);
  ProfilePlan plan;
  switch (profile) {
    case Profile::quick:
      plan.selections = {all_reduce};
      plan.adds_launches = false;
      if (gpu) plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
      return with_lenient_own_work(plan);
    case Profile::standard:
      plan.adds_launches = false;
      plan.selections = {usual_training(backend), all_reduce, send_recv};
      if (gpu) {
        plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
        plan.selections.push_back(size_sweep(OperationKind::latency, "8"));
        const std::vector<Selection> layer = layer_work(4096);  // of an 8B model
        plan.selections.insert(plan.selections.end(), layer.begin(), layer.end());
      }
      return with_lenient_own_work(plan);
    case Profile::bridge:
      return with_lenient_own_work(bridge_plan(backend));
    case Profile::inference:
      return inference_plan(backend);
    case Profile::full:
      return with_lenient_own_work(full_plan(backend));
    case Profile::node:
      plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,1M,256M" : "8,1M,64M"),
                         pair_matrix(backend)};
      plan.launches = 8;
      return plan;
    case Profile::soak:
      return with_lenient_own_work(soak_plan(backend));
  }
  throw std::logic_error("unhandled profile");
}

}  // namespace linkgain
