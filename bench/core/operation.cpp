#include "linkgain/core/operation.hpp"

#include <stdexcept>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"

namespace linkgain {

std::string_view name_of(OperationKind operation) {
  switch (operation) {
    case OperationKind::all_reduce:
      return "all_reduce";
    case OperationKind::send_recv:
      return "send_recv";
  }
  throw std::invalid_argument("no such operation");
}

OperationKind parse_operation(std::string_view name) {
  std::array<std::string_view, kOperations.size()> names;
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    names[i] = name_of(kOperations[i]);
    if (names[i] == name) return kOperations[i];
  }
  throw UsageError(unknown_name("operation", name, names));
}

bool has_reduction(OperationKind operation) {
  switch (operation) {
    case OperationKind::all_reduce:
      return true;
    case OperationKind::send_recv:
      return false;
  }
  throw std::invalid_argument("no such operation");
}

double bus_bandwidth_factor(OperationKind operation, int ranks) {
  if (ranks < 1) throw std::invalid_argument("the bus bandwidth of no ranks was asked for");
  switch (operation) {
    case OperationKind::all_reduce:
      return 2.0 * (ranks - 1) / ranks;
    case OperationKind::send_recv:
      return 1.0;
  }
  throw std::invalid_argument("no such operation");
}

}  // namespace linkgain
