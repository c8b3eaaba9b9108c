#include "linkgain/cases/operation.hpp"

#include <cstddef>
#include <stdexcept>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// How the bytes go.
enum class Form { collective, exchange, messages, copy, probe, computation, training, program };

/// What an operation has; the functions below say what each means.
struct Traits {
  std::string_view name;
  Form form = Form::collective;
  bool reduces = false;
  bool rooted = false;
  bool paired = false;
  bool always_paired = false;
  bool in_place = false;
  bool split = false;
  bool local = false;  ///< within a GPU and its host
};

constexpr std::array<Traits, kOperations.size() + 1> kTraits{{
    {.name = "all_reduce", .reduces = true, .in_place = true},
    {.name = "all_gather", .in_place = true, .split = true},
    {.name = "reduce_scatter", .reduces = true, .in_place = true, .split = true},
    {.name = "broadcast", .rooted = true, .in_place = true},
    {.name = "reduce", .reduces = true, .rooted = true, .in_place = true},
    {.name = "alltoall", .form = Form::exchange, .in_place = true, .split = true},
    {.name = "gather", .form = Form::exchange, .rooted = true, .in_place = true, .split = true},
    {.name = "scatter", .form = Form::exchange, .rooted = true, .in_place = true, .split = true},
    {.name = "send_recv", .form = Form::messages, .paired = true, .in_place = true},
    {.name = "ping_pong", .form = Form::messages, .paired = true, .always_paired = true},
    {.name = "copy_push", .form = Form::copy, .paired = true},
    {.name = "copy_pull", .form = Form::copy, .paired = true},
    {.name = "all_to_one", .form = Form::copy, .rooted = true},
    {.name = "one_to_all", .form = Form::copy, .rooted = true},
    {.name = "latency", .form = Form::probe, .paired = true, .always_paired = true},
    {.name = "load_latency", .form = Form::probe, .paired = true, .always_paired = true},
    {.name = "host_to_device", .form = Form::copy, .local = true},
    {.name = "device_to_host", .form = Form::copy, .local = true},
    {.name = "product_norm", .form = Form::computation, .local = true},
    {.name = "gpt2_step", .form = Form::training},
    {.name = "exec", .form = Form::program},
}};

/// Returns the operation's row; the table is in the enumeration's order.
const Traits& traits_of(OperationKind operation) {
  return kTraits.at(static_cast<std::size_t>(operation));
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
  return parse_name("operation", name, kOperations);
}

bool has_reduction(OperationKind operation) { return traits_of(operation).reduces; }

bool has_root(OperationKind operation) { return traits_of(operation).rooted; }

bool goes_to_root(OperationKind operation) {
  return operation == OperationKind::gather || operation == OperationKind::all_to_one;
}

bool comes_from_root(OperationKind operation) {
  return operation == OperationKind::scatter || operation == OperationKind::one_to_all;
}

bool has_pair(OperationKind operation) { return traits_of(operation).paired; }

bool needs_pair(OperationKind operation) { return traits_of(operation).always_paired; }

bool is_latency(OperationKind operation) {
  return operation == OperationKind::latency || operation == OperationKind::load_latency;
}

bool has_type(OperationKind operation) {
  return !works_on_memory(operation) && !is_training(operation) && !is_program(operation);
}

bool is_copy(OperationKind operation) { return traits_of(operation).form == Form::copy; }

bool works_on_memory(OperationKind operation) {
  return is_copy(operation) || traits_of(operation).form == Form::probe;
}

bool calls_library(OperationKind operation) {
  return has_type(operation) && operation != OperationKind::product_norm;
}

bool is_training(OperationKind operation) { return traits_of(operation).form == Form::training; }

bool is_program(OperationKind operation) { return traits_of(operation).form == Form::program; }

bool has_hidden(OperationKind operation) {
  return operation == OperationKind::all_reduce || operation == OperationKind::product_norm;
}

bool is_local(OperationKind operation) { return traits_of(operation).local; }

bool moves_its_size(OperationKind operation) {
  const bool computes = operation == OperationKind::product_norm || is_training(operation);
  return operation != OperationKind::load_latency && !computes && !is_program(operation);
}

bool has_in_place_form(OperationKind operation) { return traits_of(operation).in_place; }

bool is_split_over_ranks(OperationKind operation) { return traits_of(operation).split; }

bool is_exchange(OperationKind operation) { return traits_of(operation).form == Form::exchange; }

bool has_algorithm(OperationKind operation) {
  return traits_of(operation).form == Form::collective;
}

double bus_bandwidth_factor(OperationKind operation, int ranks) {
  if (ranks < 1) throw std::invalid_argument("the bus bandwidth of no ranks was asked for");
  const double share_of_others = static_cast<double>(ranks - 1) / ranks;
  if (operation == OperationKind::all_reduce) return 2.0 * share_of_others;
  const bool at_one =
      operation == OperationKind::all_to_one || operation == OperationKind::one_to_all;
  if (at_one) return ranks - 1.0;
  return is_split_over_ranks(operation) ? share_of_others : 1.0;
}

}  // namespace linkgain
