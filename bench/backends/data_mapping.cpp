#include "data_mapping.hpp"

#include <stdexcept>

namespace linkgain {

kernels::ElementType element_type(DataType type) {
  switch (type) {
    case DataType::float32:
      return kernels::ElementType::float32;
    case DataType::float16:
      return kernels::ElementType::float16;
    case DataType::bfloat16:
      return kernels::ElementType::bfloat16;
    case DataType::float64:
      return kernels::ElementType::float64;
    case DataType::int8:
      return kernels::ElementType::int8;
    case DataType::uint8:
      return kernels::ElementType::uint8;
    case DataType::int32:
      return kernels::ElementType::int32;
    case DataType::uint32:
      return kernels::ElementType::uint32;
    case DataType::int64:
      return kernels::ElementType::int64;
    case DataType::uint64:
      return kernels::ElementType::uint64;
    case DataType::float8e4m3:
      return kernels::ElementType::float8e4m3;
    case DataType::float8e5m2:
      return kernels::ElementType::float8e5m2;
  }
  throw std::logic_error("unhandled data type");
}

kernels::ReductionKind reduction_kind(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return kernels::ReductionKind::sum;
    case Reduction::prod:
      return kernels::ReductionKind::prod;
    case Reduction::min:
      return kernels::ReductionKind::min;
    case Reduction::max:
      return kernels::ReductionKind::max;
    case Reduction::avg:
      return kernels::ReductionKind::avg;
  }
  throw std::logic_error("unhandled reduction");
}

kernels::Pattern verification_pattern(const Case& c) {
  constexpr std::uint32_t kSeed = 20240520;
  const kernels::ReductionKind reduction =
      has_reduction(c.operation) ? reduction_kind(c.reduction) : kernels::ReductionKind::max;
  return kernels::make_pattern(element_type(c.type), reduction, c.ranks, kSeed);
}

int sender_to(const Case& c, int rank) {
  if (!c.pair) return (rank + c.ranks - 1) % c.ranks;
  if (rank == c.pair->to) return c.pair->from;
  return c.pair->both && rank == c.pair->from ? c.pair->to : -1;
}

int receiver_from(const Case& c, int rank) {
  if (!c.pair) return (rank + 1) % c.ranks;
  if (rank == c.pair->from) return c.pair->to;
  return c.pair->both && rank == c.pair->to ? c.pair->from : -1;
}

}  // namespace linkgain
