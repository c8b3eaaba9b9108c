#include "plan_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

template <typename Uses>
bool any_operation(const std::vector<Selection>& selections, Uses uses) {
  return std::any_of(selections.begin(), selections.end(), [&](const Selection& selection) {
    return std::any_of(selection.operations.begin(), selection.operations.end(),
                       [&](OperationKind operation) { return uses(selection, operation); });
  });
}

/// A pair is refused where nothing that was asked for goes between two ranks.
void require_use_of_pair(const std::vector<Selection>& selections) {
  const auto has_one = [](const Selection& selection) { return selection.pair.has_value(); };
  if (std::none_of(selections.begin(), selections.end(), has_one)) return;
  const auto uses = [](const Selection& selection, OperationKind operation) {
    if (needs_pair(operation)) return true;
    return has_pair(operation) &&
           std::any_of(selection.patterns.begin(), selection.patterns.end(),
                       [](Pattern pattern) { return pattern != Pattern::ring; });
  };
  if (any_operation(selections, uses)) return;
  throw UsageError(
      "--pair goes with ping_pong and latencies, and with send_recv and copies one way or both "
      "ways",
      "add --only send_recv --pattern one-way, or leave it out");
}

/// A root is refused where nothing that was asked for has one.
void require_use_of_root(const std::vector<Selection>& selections) {
  const auto has_one = [](const Selection& selection) {
    return selection.roots != std::vector<int>{0};
  };
  if (std::none_of(selections.begin(), selections.end(), has_one)) return;
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

bool calls_a_library(OperationKind operation) {
  return !works_on_memory(operation) && !is_training(operation);
}

bool has_usual_kernel(OperationKind operation) {
  Case c;
  c.operation = operation;
  return has_kernel(c);
}

constexpr std::array<ParameterOption, 7> kParameterOptions{{
    {"--type", &AskedFor::types, has_type},
    {"--reduction", &AskedFor::reductions, has_reduction},
    {"--in-place", &AskedFor::in_place, supports_in_place},
    {"--launch", &AskedFor::launches, calls_a_library},
    {"--pattern", &AskedFor::patterns, has_pair},
    {"--buffers", &AskedFor::buffers, calls_a_library},
    {"--kernels", &AskedFor::kernels, has_usual_kernel},
}};

std::vector<std::string_view> takers_of(const ParameterOption& option) {
  std::vector<std::string_view> takers;
  for (const OperationKind operation : kOperations) {
    if (option.is_of(operation)) takers.push_back(name_of(operation));
  }
  return takers;
}

/// A parameter is refused where nothing that was asked for has it.
void require_use_of(const ParameterOption& option, const std::vector<Selection>& selections) {
  const auto asks = [&](const Selection& selection) {
    return selection.asked_for.*option.asked_for;
  };
  if (std::none_of(selections.begin(), selections.end(), asks)) return;
  const auto uses = [&](const Selection&, OperationKind operation) {
    return option.is_of(operation);
  };
  if (any_operation(selections, uses)) return;
  const std::vector<std::string_view> takers = takers_of(option);
  throw UsageError(fmt::format("{} goes with {}", option.name, fmt::join(takers, ", ")),
                   fmt::format("add --only {}, or leave it out", takers.front()));
}

/// Options of trainings are refused where there is none.
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

}  // namespace

void require_use_of_options(const std::vector<Selection>& selections) {
  require_use_of_pair(selections);
  require_use_of_root(selections);
  for (const ParameterOption& option : kParameterOptions) {
    require_use_of(option, selections);
  }
  require_use_of_training(selections);
}

}  // namespace linkgain
