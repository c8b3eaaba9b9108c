#pragma once

#include <stdexcept>

#include "linkgain/cases/operation.hpp"

namespace linkgain {

/// Carries out the operation by the member of `library` that is named after it; those members take
/// nothing. Throws what they throw, and std::logic_error for our own work on memory and for
/// trainings, which no library has a call for.
template <typename Library>
void call_library(const Library& library, OperationKind operation) {
  switch (operation) {
    case OperationKind::all_reduce:
      return library.all_reduce();
    case OperationKind::all_gather:
      return library.all_gather();
    case OperationKind::reduce_scatter:
      return library.reduce_scatter();
    case OperationKind::broadcast:
      return library.broadcast();
    case OperationKind::reduce:
      return library.reduce();
    case OperationKind::alltoall:
      return library.alltoall();
    case OperationKind::gather:
      return library.gather();
    case OperationKind::scatter:
      return library.scatter();
    case OperationKind::send_recv:
      return library.send_recv();
    case OperationKind::ping_pong:
      return library.ping_pong();
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::all_to_one:
    case OperationKind::one_to_all:
    case OperationKind::latency:
    case OperationKind::load_latency:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
    case OperationKind::gpt2_step:
    case OperationKind::program:
      break;
  }
  throw std::logic_error("no library has a call for this operation");
}

}  // namespace linkgain
