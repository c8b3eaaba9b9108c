#pragma once

// What a build for tests can change in the all-reduce kernels (CMake's LINKGAIN_MUTANT), one thing
// at a time: faults, to see whether all_reduce_stress notices them, and waits without a bound, to
// measure what the bound costs. Each stands where its name is asked for and nowhere else.

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
  no_clear,          ///< an operation leaves the buffers of the one before as they are
  two_sets,          ///< sentinels have two sets of buffers
  clear_after_send,  ///< an operation clears what the next one receives into, when it has sent
  unbounded_wait,    ///< no fault: waits ask until the answer is there, and look at no time
};

inline constexpr Mutant kMutant = Mutant::LINKGAIN_MUTANT;

}  // namespace linkgain::kernels
