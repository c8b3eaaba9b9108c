#pragma once

#include <cstdint>

#include "kernels/verify/pattern.hpp"
#include "nccl/buffer.hpp"
#include "nccl/context.hpp"
#include "slot_pools.hpp"

namespace linkgain {

/// The slots of a case of NCCL's on this rank, and their memory of the kind that the case asks for.
class NcclPools {
 public:
  /// Local to the rank. Throws what NcclBuffer throws.
  NcclPools(const Case& c, const BufferPlan& plan, const NcclContext& context);

  /// Collective: what of the memory's registration all ranks do together.
  void prepare();

  /// Null where this rank has none.
  void* input(std::int64_t slot) const { return slots_.input(slot); }
  void* output(std::int64_t slot) const { return slots_.output(slot); }

  /// SlotPools::fill() by work on the context's stream.
  void fill(const kernels::Pattern& pattern) const { slots_.fill(pattern, *context_.stream); }

 private:
  NcclContext context_;
  SlotPools slots_;
  NcclBuffer first_;   ///< of inputs; in place of both
  NcclBuffer second_;  ///< of outputs; in place of nothing
};

}  // namespace linkgain
