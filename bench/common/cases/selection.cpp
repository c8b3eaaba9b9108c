#include "linkgain/cases/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// Returns pairs that a pattern asks for; a single absent pair stands for the ring.
std::vector<std::optional<Pair>> pairs_of(const Selection& selection, Pattern pattern, int ranks) {
  if (pattern == Pattern::ring) return {std::nullopt};
  const bool both = pattern == Pattern::both_ways;
  if (selection.pair) return {Pair{selection.pair->from, selection.pair->to, both}};
  std::vector<std::optional<Pair>> pairs;
  for (int from = 0; from < ranks; ++from) {
    for (int to = both ? from + 1 : 0; to < ranks; ++to) {
      if (from != to) pairs.push_back(Pair{from, to, both});
    }
  }
  return pairs;
}

/// Returns the pairs of an operation that has them, else none.
std::vector<std::optional<Pair>> peers_of(const Selection& selection, OperationKind operation,
                                          int ranks) {
  if (!has_pair(operation)) return {std::nullopt};
  std::vector<std::optional<Pair>> all;
  for (const Pattern pattern : selection.patterns) {
    if (needs_pair(operation) && pattern != Pattern::one_way) {
      const Pair pair = selection.pair.value_or(Pair{});
      all.push_back(Pair{pair.from, pair.to, false});
      continue;
    }
    const auto pairs = pairs_of(selection, pattern, ranks);
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  return all;
}

/// Returns every case with every value in its `member`; values change faster than cases.
template <typename Value>
std::vector<Case> multiply(const std::vector<Case>& cases, Value Case::*member,
                           const std::vector<Value>& values) {
  std::vector<Case> all;
  for (const Case& c : cases) {
    for (const Value& value : values) {
      all.push_back(c);
      all.back().*member = value;
    }
  }
  return all;
}

/// Returns the kernels beside the curves that have one; the others as they are.
std::vector<Case> with_kernels(const std::vector<Case>& curves, const std::vector<bool>& kernels) {
  std::vector<Case> all;
  for (const Case& curve : curves) {
    const std::vector<Case> both =
        has_kernel(curve) ? multiply({curve}, &Case::kernel, kernels) : std::vector{curve};
    all.insert(all.end(), both.begin(), both.end());
  }
  return all;
}

/// Returns how cases of any size are launched, in the order in which their curves are to come.
std::vector<LaunchMode> launches_of(const Selection& selection, BackendKind backend) {
  std::vector<LaunchMode> modes;
  for (const LaunchChoice choice : selection.launches) {
    for (const Bytes size : {Bytes{0}, kLaunchBoundBelow}) {
      const LaunchMode mode = launch_mode(choice, backend, size);
      if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(mode);
    }
  }
  return modes;
}

/// Returns the curves launched in each of these ways; by graph where they stand between a product
/// and a norm.
std::vector<Case> with_launches(const std::vector<Case>& curves,
                                const std::vector<LaunchMode>& launches) {
  std::vector<Case> all;
  for (const Case& curve : curves) {
    const std::vector<Case> own = multiply(
        {curve}, &Case::launch, curve.hidden != 0 ? std::vector{LaunchMode::graph} : launches);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Returns whether any choice has a case of this size launched as it is.
bool is_launched_so(const Selection& selection, const Case& c, BackendKind backend) {
  return works_on_memory(c.operation) || c.hidden != 0 ||
         std::ranges::any_of(selection.launches, [&](LaunchChoice choice) {
           return launch_mode(choice, backend, c.size) == c.launch;
         });
}

/// Returns one case for each combination but the size.
std::vector<Case> curves_of(const Selection& selection, OperationKind operation, int ranks,
                            BackendKind backend) {
  Case base;
  base.operation = operation;
  base.ranks = ranks;
  std::vector<Case> curves{base};
  if (has_type(operation)) curves = multiply(curves, &Case::type, selection.types);
  if (has_reduction(operation)) curves = multiply(curves, &Case::reduction, selection.reductions);
  if (supports_in_place(operation)) {
    curves = multiply(curves, &Case::in_place, selection.in_place);
  }
  if (has_hidden(operation)) curves = multiply(curves, &Case::hidden, selection.hidden);
  if (calls_library(operation)) {
    curves = with_launches(curves, launches_of(selection, backend));
    curves = multiply(curves, &Case::buffers, selection.buffers);
  }
  if (operation == OperationKind::product_norm) curves = with_launches(curves, {});
  if (has_root(operation)) curves = multiply(curves, &Case::root, selection.roots);
  curves = multiply(curves, &Case::pair, peers_of(selection, operation, ranks));
  return with_kernels(curves, selection.kernels);
}

/// Returns the sizes of a curve. What is no multiple of one element is left for validate() to
/// refuse.
std::vector<Bytes> sizes_of(const Case& curve, const Selection& selection) {
  const std::vector<Bytes>& asked = selection.sizes;
  if (!is_split_over_ranks(curve.operation) && curve.hidden == 0) return asked;
  const std::int64_t granule = size_granule(curve);
  std::vector<Bytes> sizes;
  for (const Bytes size : asked) {
    const bool whole = size.value % size_of(curve.type) == 0;
    const Bytes rounded = whole ? Bytes{size.value / granule * granule} : size;
    if (rounded.value > 0 || !whole) sizes.push_back(rounded);
  }
  if (sizes.empty() && !asked.empty() && !selection.where_possible) {
    throw UsageError(
        curve.hidden != 0
            ? fmt::format("no size is large enough for a row of {} elements", curve.hidden)
            : fmt::format("no size is large enough for {}: each of the {} ranks needs one {}",
                          name_of(curve.operation), curve.ranks, name_of(curve.type)),
        fmt::format("its smallest size is {}", exact_bytes(Bytes{granule})));
  }
  return sizes;
}

/// Returns whether a case has a size and ranks that are possible.
bool is_possible(const Case& c) {
  const bool fits = c.size.value > 0 && c.size.value % size_granule(c) == 0;
  return fits && (!works_on_memory(c.operation) || c.ranks <= kMostRanksOfKernels);
}

void add_cases(std::vector<Case>& cases, const Selection& selection, Case curve,
               BackendKind backend) {
  for (const Bytes size : sizes_of(curve, selection)) {
    curve.size = size;
    if (!is_launched_so(selection, curve, backend)) continue;
    if (selection.where_possible && !is_possible(curve)) continue;
    validate(curve);
    require_supported(backend, curve);
    if (std::ranges::find(cases, curve) == cases.end()) cases.push_back(curve);
  }
}

/// Fills in what was not asked for: the guide's training where there are GPUs, else what a CPU can
/// train.
TrainingSelection with_usual(TrainingSelection selection, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  if (selection.models.empty()) {
    selection.models = {gpu ? ModelSize::gpt2 : ModelSize::tiny};
  }
  if (selection.precisions.empty()) {
    selection.precisions = {gpu ? TrainingPrecision::fp32 : TrainingPrecision::fp64};
  }
  return selection;
}

void add_trainings(std::vector<Case>& cases, const Selection& selection, OperationKind operation,
                   int ranks, BackendKind backend) {
  for (const TrainingParameters& training : combinations(with_usual(selection.training, backend))) {
    Case c;
    c.operation = operation;
    c.ranks = ranks;
    c.training = training;
    c.size = gradient_bytes(training);
    if (selection.where_possible && ranks > kMostRanksOfKernels) continue;
    validate(c);
    require_supported(backend, c);
    if (std::ranges::find(cases, c) == cases.end()) cases.push_back(c);
  }
}

template <typename Uses>
bool any_operation(const std::vector<Selection>& selections, Uses uses) {
  return std::ranges::any_of(selections, [&](const Selection& selection) {
    return std::ranges::any_of(selection.operations,
                               [&](OperationKind operation) { return uses(selection, operation); });
  });
}

/// Refuses a pair if nothing that was asked for goes between two ranks.
void require_use_of_pair(const std::vector<Selection>& selections) {
  const auto has_one = [](const Selection& selection) { return selection.pair.has_value(); };
  if (std::ranges::none_of(selections, has_one)) return;
  const auto uses = [](const Selection& selection, OperationKind operation) {
    if (needs_pair(operation)) return true;
    return has_pair(operation) && std::ranges::any_of(selection.patterns, [](Pattern pattern) {
             return pattern != Pattern::ring;
           });
  };
  if (any_operation(selections, uses)) return;
  throw UsageError(
      "--pair goes with ping_pong and latencies, and with send_recv and copies one way or both "
      "ways",
      "add --only send_recv --pattern one-way, or leave it out");
}

/// Refuses a root if nothing that was asked for has one.
void require_use_of_root(const std::vector<Selection>& selections) {
  const auto has_one = [](const Selection& selection) {
    return selection.roots != std::vector<int>{0};
  };
  if (std::ranges::none_of(selections, has_one)) return;
  const auto uses = [](const Selection&, OperationKind operation) { return has_root(operation); };
  if (any_operation(selections, uses)) return;
  throw UsageError("--root goes with broadcast, reduce, gather, scatter, all_to_one and one_to_all",
                   "add --only broadcast, or leave it out");
}

/// An option that names a parameter, and which operations have that.
struct ParameterOption {
  std::string_view name;
  bool AskedFor::*asked_for;
  bool (*is_of)(OperationKind operation);
};

bool has_usual_kernel(OperationKind operation) {
  Case c;
  c.operation = operation;
  return has_kernel(c);
}

constexpr std::array<ParameterOption, 8> kParameterOptions{{
    {"--type", &AskedFor::types, calls_library},
    {"--reduction", &AskedFor::reductions, has_reduction},
    {"--in-place", &AskedFor::in_place, supports_in_place},
    {"--launch-mode", &AskedFor::launches, calls_library},
    {"--pattern", &AskedFor::patterns, has_pair},
    {"--buffers", &AskedFor::buffers, calls_library},
    {"--kernels", &AskedFor::kernels, has_usual_kernel},
    {"--hidden", &AskedFor::hidden, has_hidden},
}};

std::vector<std::string_view> takers_of(const ParameterOption& option) {
  std::vector<std::string_view> takers;
  for (const OperationKind operation : kOperations) {
    if (option.is_of(operation)) takers.push_back(name_of(operation));
  }
  return takers;
}

/// Refuses a parameter if nothing that was asked for has it.
void require_use_of(const ParameterOption& option, const std::vector<Selection>& selections) {
  const auto asks = [&](const Selection& selection) {
    return selection.asked_for.*option.asked_for;
  };
  if (std::ranges::none_of(selections, asks)) return;
  const auto uses = [&](const Selection&, OperationKind operation) {
    return option.is_of(operation);
  };
  if (any_operation(selections, uses)) return;
  const std::vector<std::string_view> takers = takers_of(option);
  throw UsageError(fmt::format("{} goes with {}", option.name, fmt::join(takers, ", ")),
                   fmt::format("add --only {}, or leave it out", takers.front()));
}

/// Refuses options of trainings if there is none.
void require_use_of_training(const std::vector<Selection>& selections) {
  const auto trains = [](const Selection&, OperationKind operation) {
    return is_training(operation);
  };
  if (any_operation(selections, trains)) return;
  for (const Selection& selection : selections) {
    const std::vector<std::string_view>& options = selection.asked_for.training;
    if (options.empty()) continue;
    throw UsageError(
        fmt::format("{} {}", go_with(options), name_of(OperationKind::gpt2_step)),
        fmt::format("add --only {}, or leave {} out", name_of(OperationKind::gpt2_step),
                    options.size() > 1 ? "them" : "it"));
  }
}

/// Refuses a pair, a root or a parameter that was asked for and that no operation has.
void require_use_of_options(const std::vector<Selection>& selections) {
  require_use_of_pair(selections);
  require_use_of_root(selections);
  for (const ParameterOption& option : kParameterOptions) {
    require_use_of(option, selections);
  }
  require_use_of_training(selections);
}

}  // namespace

LaunchMode launch_mode(LaunchChoice choice, BackendKind backend, Bytes size) {
  switch (choice) {
    case LaunchChoice::automatic:
      return size < kLaunchBoundBelow && supports(backend, LaunchMode::graph) ? LaunchMode::graph
                                                                              : LaunchMode::stream;
    case LaunchChoice::stream:
      return LaunchMode::stream;
    case LaunchChoice::graph:
      return LaunchMode::graph;
  }
  throw std::invalid_argument("no such choice of launches");
}

bool is_in_decoder(const Selection& selection) {
  return std::ranges::any_of(selection.hidden, [](int hidden) { return hidden != 0; });
}

std::vector<Bytes> decoder_sizes(const std::vector<int>& hidden) {
  std::set<Bytes> sizes;
  for (const int row : hidden) {
    for (const int tokens : kDecoderTokens) {
      sizes.insert({std::int64_t{tokens} * row * size_of(DataType::bfloat16)});
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<Case> expand(const std::vector<Selection>& selections, int ranks, BackendKind backend) {
  require_use_of_options(selections);
  std::vector<Case> cases;
  for (const Selection& selection : selections) {
    for (const OperationKind operation : selection.operations) {
      if (is_training(operation)) {
        add_trainings(cases, selection, operation, ranks, backend);
        continue;
      }
      for (const Case& curve : curves_of(selection, operation, ranks, backend)) {
        add_cases(cases, selection, curve, backend);
      }
    }
  }
  return cases;
}

}  // namespace linkgain
