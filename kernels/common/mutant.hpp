#pragma once

// Faults that the all-reduce kernels of a build for tests can have (CMake's LINKGAIN_MUTANT), one
// at a time, to see whether all_reduce_stress notices them. Each stands where its name is asked for
// below and nowhere else.

#ifndef LINKGAIN_MUTANT
#define LINKGAIN_MUTANT none
#endif

namespace linkgain::kernels {

enum class Mutant {
  none,
  no_release,  ///< store_release() orders nothing: on sm_90 no MEMBAR.ALL.SYS
  /// load_acquire() orders nothing. On sm_90 its code lacks CCTL.IVALL, which empties the
  /// first-level cache; as all that others write is loaded past that cache (load_once()), and a
  /// load starts only when the flag's has returned, it need not show there.
  no_acquire,
  one_buffer_set,    ///< operations that follow each other use the same buffers
  flag_before_data,  ///< two_shot signals a chunk before it sends it
  wrong_share_end,   ///< the last share ends a vector early
};

inline constexpr Mutant kMutant = Mutant::LINKGAIN_MUTANT;

}  // namespace linkgain::kernels
