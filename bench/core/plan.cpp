#include "linkgain/core/plan.hpp"

#include <algorithm>
#include <array>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"
#include "linkgain/core/sweep.hpp"

namespace linkgain {
namespace {

constexpr std::array<std::string_view, 3> kPatternNames{"ring", "one-way", "both-ways"};
constexpr std::array<std::string_view, 4> kProfileNames{"quick", "default", "full", "node"};

/// Pairs that a pattern asks for; a single absent pair stands for the ring.
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

/// One case for each combination but the size.
std::vector<Case> curves_of(const Selection& selection, OperationKind operation, int ranks) {
  std::vector<Case> curves;
  const bool reduces = has_reduction(operation);
  const std::vector<Reduction> reductions =
      reduces ? selection.reductions : std::vector{Reduction::sum};
  const std::vector<bool> places = reduces ? selection.in_place : std::vector{false};
  const std::vector<Pattern> patterns = reduces ? std::vector{Pattern::ring} : selection.patterns;
  for (DataType type : selection.types) {
    for (Reduction reduction : reductions) {
      for (bool in_place : places) {
        for (LaunchMode launch : selection.launches) {
          for (Pattern pattern : patterns) {
            for (const auto& pair : pairs_of(selection, pattern, ranks)) {
              curves.push_back({operation, type, reduction, {}, ranks, in_place, launch, pair});
            }
          }
        }
      }
    }
  }
  return curves;
}

Selection ladder(OperationKind operation, std::string_view sizes) {
  Selection selection;
  selection.operations = {operation};
  selection.sizes = parse_sizes(sizes);
  return selection;
}

/// Every type with every reduction at one size in the latency range and one in the bandwidth range.
Selection all_types(BackendKind backend) {
  Selection selection = ladder(OperationKind::all_reduce, "64K,16M");
  selection.types.clear();
  selection.reductions.clear();
  for (DataType type : kDataTypes) {
    if (supports(backend, type)) selection.types.push_back(type);
  }
  for (Reduction reduction : kReductions) {
    if (supports(backend, reduction)) selection.reductions.push_back(reduction);
  }
  return selection;
}

/// Every pair of ranks, each way alone and both at once.
Selection pair_matrix(BackendKind backend) {
  Selection pairs = ladder(OperationKind::send_recv, backend == BackendKind::nccl ? "256M" : "64M");
  pairs.patterns = {Pattern::one_way, Pattern::both_ways};
  return pairs;
}

ProfilePlan full_plan(BackendKind backend, std::string_view all_reduce,
                      std::string_view send_recv) {
  ProfilePlan plan;
  plan.launches = 5;
  plan.budget = Seconds{900};
  Selection reduce = ladder(OperationKind::all_reduce, all_reduce);
  Selection exchange = ladder(OperationKind::send_recv, send_recv);
  if (supports(backend, LaunchMode::graph)) {
    reduce.launches = exchange.launches = {LaunchMode::stream, LaunchMode::graph};
  }
  reduce.in_place = {false, true};
  plan.selections = {reduce, exchange, pair_matrix(backend), all_types(backend)};
  return plan;
}

/// A pair is refused where nothing that was asked for goes between two ranks.
void require_use_of_pair(const std::vector<Selection>& selections) {
  const auto has_pair = [](const Selection& selection) { return selection.pair.has_value(); };
  const auto uses_pair = [](const Selection& selection) {
    const bool transfers = std::any_of(selection.operations.begin(), selection.operations.end(),
                                       [](OperationKind kind) { return !has_reduction(kind); });
    return transfers && std::any_of(selection.patterns.begin(), selection.patterns.end(),
                                    [](Pattern pattern) { return pattern != Pattern::ring; });
  };
  if (std::none_of(selections.begin(), selections.end(), has_pair)) return;
  if (std::any_of(selections.begin(), selections.end(), uses_pair)) return;
  throw UsageError("--pair goes with send_recv one way or both ways",
                   "add --only send_recv --pattern one-way, or leave it out");
}

}  // namespace

std::string_view name_of(Pattern pattern) {
  return kPatternNames[static_cast<std::size_t>(pattern)];
}

Pattern parse_pattern(std::string_view name) {
  for (Pattern pattern : {Pattern::ring, Pattern::one_way, Pattern::both_ways}) {
    if (name == name_of(pattern)) return pattern;
  }
  throw UsageError(unknown_name("pattern", name, kPatternNames));
}

std::string_view name_of(Profile profile) {
  return kProfileNames[static_cast<std::size_t>(profile)];
}

Profile parse_profile(std::string_view name) {
  for (Profile profile : {Profile::quick, Profile::standard, Profile::full, Profile::node}) {
    if (name == name_of(profile)) return profile;
  }
  throw UsageError(unknown_name("profile", name, kProfileNames));
}

std::vector<Case> expand(const std::vector<Selection>& selections, int ranks, BackendKind backend) {
  require_use_of_pair(selections);
  std::vector<Case> cases;
  for (const Selection& selection : selections) {
    for (OperationKind operation : selection.operations) {
      for (Case c : curves_of(selection, operation, ranks)) {
        for (Bytes size : selection.sizes) {
          c.size = size;
          validate(c);
          require_supported(backend, c);
          if (std::find(cases.begin(), cases.end(), c) == cases.end()) cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

ProfilePlan plan_of(Profile profile, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  const std::string_view all_reduce = gpu ? "16:1G:x4" : "16:64M:x4";
  const std::string_view send_recv = gpu ? "16:1G:x16" : "16:64M:x16";
  ProfilePlan plan;
  switch (profile) {
    case Profile::quick:
      plan.selections = {ladder(OperationKind::all_reduce, all_reduce)};
      return plan;
    case Profile::standard:
      plan.selections = {ladder(OperationKind::all_reduce, all_reduce),
                         ladder(OperationKind::send_recv, send_recv)};
      return plan;
    case Profile::full:
      return full_plan(backend, all_reduce, send_recv);
    case Profile::node:
      plan.selections = {ladder(OperationKind::all_reduce, gpu ? "8,1M,256M" : "8,1M,64M"),
                         pair_matrix(backend)};
      plan.launches = 8;
      return plan;
  }
  throw std::logic_error("unhandled profile");
}

}  // namespace linkgain
