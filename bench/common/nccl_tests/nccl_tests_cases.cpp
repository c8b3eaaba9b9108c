#include "linkgain/nccl_tests/nccl_tests_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

/// What a rank's share is a multiple of where elements are counted for one rank.
constexpr std::int64_t kShareBytes = 16;

/// What -R 0, 1 and 2 stand for: nccl-tests has NCCL allocate all its buffers. Memory of MPI's is
/// plain.
Buffers buffers_of(int registration, BackendKind backend) {
  constexpr std::array kKinds{Buffers::allocated, Buffers::registered, Buffers::symmetric};
  const bool plain = registration == 0 && backend == BackendKind::mpi;
  return plain ? Buffers::plain : kKinds.at(static_cast<std::size_t>(registration));
}

bool has_type(const NcclTestsMachine& machine, DataType type) {
  const bool is_float8 = type == DataType::float8e4m3 || type == DataType::float8e5m2;
  return supports(machine.backend, type) && (!is_float8 || machine.has_float8);
}

std::vector<DataType> types_of(const NcclTestsOptions& options, const NcclTestsMachine& machine) {
  if (options.type) return {*options.type};
  std::vector<DataType> types;
  std::ranges::copy_if(kNcclTestsTypes, std::back_inserter(types),
                       [&](DataType type) { return has_type(machine, type); });
  return types;
}

/// Absent where the program has none.
std::vector<std::optional<Reduction>> reductions_of(const NcclTestsOptions& options,
                                                    const NcclTestsProgram& program,
                                                    BackendKind backend) {
  if (!program.takes_reduction) return {std::nullopt};
  if (options.reduction) return {options.reduction};
  std::vector<std::optional<Reduction>> reductions;
  for (const Reduction reduction : kNcclTestsReductions) {
    if (supports(backend, reduction)) reductions.emplace_back(reduction);
  }
  return reductions;
}

std::vector<int> roots_of(const NcclTestsOptions& options, const NcclTestsProgram& program,
                          int ranks) {
  if (!program.takes_root) return {-1};
  if (options.root >= ranks) {
    throw UsageError(fmt::format("-r {}: the ranks are 0 to {}", options.root, ranks - 1));
  }
  if (options.root >= 0) return {options.root};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

}  // namespace

std::vector<NcclTestsCurve> nccl_tests_curves(const NcclTestsOptions& options,
                                              const NcclTestsProgram& program,
                                              const NcclTestsMachine& machine) {
  std::vector<NcclTestsCurve> curves;
  for (const DataType type : types_of(options, machine)) {
    for (const auto& reduction : reductions_of(options, program, machine.backend)) {
      for (const int root : roots_of(options, program, machine.ranks)) {
        Case c;
        c.operation = program.operation;
        c.type = type;
        if (reduction && has_reduction(c.operation)) c.reduction = *reduction;
        c.ranks = machine.ranks;
        if (options.graph_launches > 0) c.launch = LaunchMode::graph;
        c.buffers = buffers_of(options.registration, machine.backend);
        if (has_root(c.operation)) c.root = root;
        require_supported(machine.backend, c);
        curves.push_back({c, reduction ? std::string(name_of(*reduction)) : "none", root});
      }
    }
  }
  return curves;
}

bool has_nccl_tests_in_place(BackendKind backend, OperationKind operation) {
  return supports_in_place(operation) || backend == BackendKind::nccl;
}

std::vector<std::string> nccl_tests_left_out(const NcclTestsOptions& options,
                                             const NcclTestsProgram& program,
                                             const NcclTestsMachine& machine) {
  std::vector<std::string_view> types;
  std::vector<std::string_view> reductions;
  for (const DataType type : kNcclTestsTypes) {
    if (!options.type && !has_type(machine, type)) types.push_back(nccl_tests_name(type));
  }
  for (const Reduction reduction : kNcclTestsReductions) {
    const bool asked = program.takes_reduction && !options.reduction;
    if (asked && !supports(machine.backend, reduction)) reductions.push_back(name_of(reduction));
  }
  std::vector<std::string> comments;
  const auto add = [&](const char* flag, std::span<const std::string_view> names) {
    if (names.empty()) return;
    comments.push_back(fmt::format("Leaving out -{} {}: the {} backend has none here", flag,
                                   fmt::join(names, ", "), name_of(machine.backend)));
  };
  add("d", types);
  add("o", reductions);
  if (!has_nccl_tests_in_place(machine.backend, program.operation)) {
    comments.push_back(fmt::format("Leaving out in-place: the {} backend has no such form of {}",
                                   name_of(machine.backend), name_of(program.operation)));
  }
  return comments;
}

NcclTestsSize nccl_tests_size(const NcclTestsProgram& program, const Case& c, Bytes size) {
  const int bytes = size_of(c.type);
  std::int64_t elements = size.value / bytes;
  if (!program.counts_per_rank) return {elements, Bytes{elements * bytes}};
  const std::int64_t unit = kShareBytes / bytes;
  elements = elements / c.ranks / unit * unit;
  return {elements, Bytes{elements * bytes * c.ranks}};
}

Bytes next_nccl_tests_size(const NcclTestsOptions& options, Bytes size) {
  if (options.factor > 1) {
    return Bytes{size.value > options.largest.value / options.factor ? 0
                                                                     : size.value * options.factor};
  }
  const std::int64_t left = options.largest.value - size.value;
  return Bytes{options.step.value > left ? 0 : size.value + options.step.value};
}

}  // namespace linkgain
