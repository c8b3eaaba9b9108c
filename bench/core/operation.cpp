#include "linkgain/core/operation.hpp"

#include <cstddef>
#include <stdexcept>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"

namespace linkgain {
namespace {

/// How the bytes go.
enum class Form { collective, grouped, messages };

/// What an operation has; the functions below say what each means.
struct Traits {
  std::string_view name;
  Form form = Form::collective;
  bool reduces = false;
  bool rooted = false;
  bool paired = false;
  bool in_place = false;
  bool split = false;
};

Traits traits_of(OperationKind operation) {
  switch (operation) {
    case OperationKind::all_reduce:
      return {.name = "all_reduce", .reduces = true, .in_place = true};
    case OperationKind::all_gather:
      return {.name = "all_gather", .in_place = true, .split = true};
    case OperationKind::reduce_scatter:
      return {.name = "reduce_scatter", .reduces = true, .in_place = true, .split = true};
    case OperationKind::broadcast:
      return {.name = "broadcast", .rooted = true, .in_place = true};
    case OperationKind::reduce:
      return {.name = "reduce", .reduces = true, .rooted = true, .in_place = true};
    case OperationKind::alltoall:
      return {.name = "alltoall", .form = Form::grouped, .split = true};
    case OperationKind::gather:
      return {
          .name = "gather", .form = Form::grouped, .rooted = true, .in_place = true, .split = true};
    case OperationKind::scatter:
      return {.name = "scatter",
              .form = Form::grouped,
              .rooted = true,
              .in_place = true,
              .split = true};
    case OperationKind::send_recv:
      return {.name = "send_recv", .form = Form::messages, .paired = true};
    case OperationKind::ping_pong:
      return {.name = "ping_pong", .form = Form::messages, .paired = true};
  }
  throw std::invalid_argument("no such operation");
}

}  // namespace

std::string_view name_of(OperationKind operation) { return traits_of(operation).name; }

std::string operation_names() {
  std::string names;
  for (const OperationKind operation : kOperations) {
    if (!names.empty()) names += ", ";
    names += name_of(operation);
  }
  return names;
}

OperationKind parse_operation(std::string_view name) {
  std::array<std::string_view, kOperations.size()> names;
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    names[i] = name_of(kOperations[i]);
    if (names[i] == name) return kOperations[i];
  }
  throw UsageError(unknown_name("operation", name, names));
}

bool has_reduction(OperationKind operation) { return traits_of(operation).reduces; }

bool has_root(OperationKind operation) { return traits_of(operation).rooted; }

bool has_pair(OperationKind operation) { return traits_of(operation).paired; }

bool has_in_place_form(OperationKind operation) { return traits_of(operation).in_place; }

bool is_split_over_ranks(OperationKind operation) { return traits_of(operation).split; }

bool is_grouped(OperationKind operation) { return traits_of(operation).form == Form::grouped; }

bool has_algorithm(OperationKind operation) {
  return traits_of(operation).form == Form::collective;
}

double bus_bandwidth_factor(OperationKind operation, int ranks) {
  if (ranks < 1) throw std::invalid_argument("the bus bandwidth of no ranks was asked for");
  const double share_of_others = static_cast<double>(ranks - 1) / ranks;
  if (operation == OperationKind::all_reduce) return 2.0 * share_of_others;
  return is_split_over_ranks(operation) ? share_of_others : 1.0;
}

}  // namespace linkgain
