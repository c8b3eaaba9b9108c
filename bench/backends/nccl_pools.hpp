#pragma once

#include <cstdint>

#include "kernels/pattern.hpp"
#include "linkgain/core/buffer_plan.hpp"
#include "nccl_buffer.hpp"
#include "nccl_context.hpp"

namespace linkgain {

/// The slots of a case on this rank: where each one's input and output are, and what is put in.
class NcclPools {
 public:
  /// Local to the rank. Throws what NcclBuffer throws.
  NcclPools(const Case& c, const BufferPlan& plan, const NcclContext& context);

  /// Collective: what of the memory's registration all ranks do together.
  void prepare();

  /// Null where this rank has none.
  void* input(std::int64_t slot) const;
  void* output(std::int64_t slot) const;
  Bytes output_size() const { return buffers_.output; }

  /// Puts this rank's known data into every slot's input and poison everywhere else, by work on the
  /// context's stream. Every slot gets the same: were the pattern to run on from slot to slot, a
  /// check would have to know the slot.
  void fill(const kernels::Pattern& pattern) const;

 private:
  void copy_first_slot() const;

  RankBuffers buffers_;
  SlotBytes slot_bytes_;
  std::int64_t slots_;
  std::int64_t element_bytes_;
  bool in_place_;
  NcclContext context_;
  NcclBuffer first_;   ///< of inputs; in place of both
  NcclBuffer second_;  ///< of outputs; in place of nothing
};

}  // namespace linkgain
