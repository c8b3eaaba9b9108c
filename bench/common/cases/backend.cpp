#include "linkgain/cases/backend.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

void require_in_place_form(BackendKind backend, const Case& c) {
  if (!c.in_place || supports_in_place(c.operation)) return;
  throw UsageError(fmt::format("the {} backend has no in-place form of {}", name_of(backend),
                               name_of(c.operation)),
                   "leave --in-place out");
}

}  // namespace

BackendKind parse_backend(std::string_view name) { return parse_name("backend", name, kBackends); }

bool supports(BackendKind backend, OperationKind operation) {
  return backend == BackendKind::nccl ||
         (!works_on_memory(operation) && operation != OperationKind::product_norm);
}

bool supports(BackendKind backend, DataType type) {
  if (backend == BackendKind::nccl) return true;
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      return false;
    case DataType::float32:
    case DataType::float64:
    case DataType::int8:
    case DataType::uint8:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return true;
  }
  throw std::logic_error("unhandled data type");
}

bool supports(BackendKind backend, Reduction reduction) {
  const bool of_nccl = reduction == Reduction::avg || reduction == Reduction::mulsum;
  return backend == BackendKind::nccl || !of_nccl;
}

bool supports(BackendKind backend, const TrainingParameters& training) {
  const bool on_cpu = training.precision == TrainingPrecision::fp64;
  return backend == BackendKind::nccl ? !on_cpu : on_cpu && training.model == ModelSize::tiny;
}

bool supports(BackendKind backend, LaunchMode launch) {
  return backend == BackendKind::nccl || launch == LaunchMode::stream;
}

bool supports(BackendKind backend, Buffers buffers) {
  return backend == BackendKind::nccl || buffers == Buffers::plain;
}

bool is_launch_bound(BackendKind backend, const Case& c) {
  if (backend != BackendKind::nccl || c.training || c.launch == LaunchMode::graph) return false;
  const bool many_a_launch = is_latency(c.operation);
  return !many_a_launch && c.size < kLaunchBoundBelow;
}

bool supports_in_place(OperationKind operation) {
  return has_in_place_form(operation) && operation != OperationKind::alltoall &&
         operation != OperationKind::send_recv;
}

void require_supported(BackendKind backend, const Case& c) {
  const auto refuse = [&](std::string_view what, std::string_view name, std::string_view have) {
    throw UsageError(fmt::format("the {} backend has no {} {}", name_of(backend), what, name),
                     fmt::format("it has {}", have));
  };
  if (!supports(backend, c.operation)) {
    throw UsageError(fmt::format("the mpi backend has no {}: it is work on the memory of GPUs",
                                 name_of(c.operation)),
                     "leave it out of --only, or measure MPI's send_recv and ping_pong");
  }
  if (c.training && !supports(backend, *c.training)) {
    refuse("training", leading_text(*c.training),
           backend == BackendKind::nccl ? "fp32, tf32 and bf16, of gpt2 and tiny" : "fp64/tiny");
  }
  if (!supports(backend, c.type)) {
    refuse("type", name_of(c.type), "float32, float64, int8, uint8, int32, uint32, int64, uint64");
  }
  if (has_reduction(c.operation) && !supports(backend, c.reduction)) {
    refuse("reduction", name_of(c.reduction), "sum, prod, min, max");
  }
  require_in_place_form(backend, c);
  if (c.hidden != 0 && backend == BackendKind::mpi) {
    throw UsageError("the mpi backend has no product and norm around an operation",
                     "leave --hidden out");
  }
  if (!supports(backend, c.launch)) refuse("launch mode", name_of(c.launch), "stream");
  if (c.kernel && backend == BackendKind::mpi) {
    throw UsageError("the mpi backend has no kernels of our own: they work on GPUs",
                     "leave --kernels out; where there should be GPUs, linkgain doctor says why "
                     "none is seen");
  }
  if (!supports(backend, c.buffers)) {
    throw UsageError(fmt::format("the {} backend has no {} buffers: MPI in CPU memory has plain "
                                 "buffers only",
                                 name_of(backend), name_of(c.buffers)),
                     "leave --buffers out");
  }
}

}  // namespace linkgain
