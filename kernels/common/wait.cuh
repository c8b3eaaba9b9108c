#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/wait_report.hpp"

// Memory that other devices, or the host, read and write at the same time: how it is accessed, and
// all waiting that a kernel does by asking again. Nobody may wait here for a block that need not
// run: whose counterparts a kernel waits for must all fit on their devices at once, or have started
// before.

// What a build for tests can change in these and in the all-reduce kernels (CMake's
// LINKGAIN_MUTANT), one thing at a time: faults, to see whether all_reduce_stress notices them, and
// waits without a bound, to measure what the bound costs. Each stands where its name is asked for
// and nowhere else.

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

// Names and meaning are those of the PTX ISA, "Memory consistency model"; the scope is the system.

__device__ inline void store_release(std::uint32_t* to, std::uint32_t value) {
  if constexpr (kMutant == Mutant::no_release) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  } else {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
}

__device__ inline std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t value;
  if constexpr (kMutant == Mutant::no_acquire) {
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  } else {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  }
  return value;
}

/// Stores four words, each of which is written at once, but not all together.
__device__ inline void store_relaxed(uint4* to, const uint4& value) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline uint4 load_relaxed(const uint4* from) {
  uint4 value;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

/// Two words of data, each with a flag beside it that is written with it by one access of 8 bytes,
/// so that no fence stands between data and flag: LL, for twice the bytes.
struct alignas(16) LLPacket {
  std::uint32_t first;
  std::uint32_t first_flag;
  std::uint32_t second;
  std::uint32_t second_flag;
};

__device__ inline void store_packet(LLPacket* to, const uint2& data, std::uint32_t flag) {
  asm volatile(
      "{\n\t"
      ".reg .b64 low, high;\n\t"
      "mov.b64 low, {%1, %2};\n\t"
      "mov.b64 high, {%3, %4};\n\t"
      "st.volatile.global.v2.b64 [%0], {low, high};\n\t"
      "}" ::"l"(to),
      "r"(data.x), "r"(flag), "r"(data.y), "r"(flag)
      : "memory");
}

__device__ inline uint4 load_packet(const LLPacket* from) {
  std::uint64_t low;
  std::uint64_t high;
  asm volatile("ld.volatile.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"(from)
               : "memory");
  return make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
}

/// Reads the device-wide timer, which may advance in steps of a microsecond.
__device__ inline std::uint64_t global_nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Whom a thread waits for.
struct Awaited {
  WaitPhase phase;
  int peer;
  std::uint32_t expected;
};

/// Ends a thread that waited in vain, which says in `report` whom it waited for, if it is the first
/// of its device; its block goes on without it at barriers, see end_if_any_gave_up(). Without a
/// report it ends the kernel. Out of line, and without a return: so it costs no registers where
/// kernels wait, and lies behind what they do.
[[noreturn]] static __device__ __noinline__ void give_up(WaitReport* report,
                                                         std::uint32_t phase_and_peer,
                                                         std::uint32_t expected,
                                                         std::uint32_t seen) {
  if (report == nullptr) __trap();
  auto* const phase = reinterpret_cast<std::uint32_t*>(&report->phase);
  constexpr auto kNone = static_cast<std::uint32_t>(WaitPhase::none);
  if (atomicCAS(phase, kNone, static_cast<std::uint32_t>(WaitPhase::reporting)) == kNone) {
    report->peer = static_cast<std::uint16_t>(phase_and_peer & 0xffffU);
    report->block = static_cast<std::uint16_t>(blockIdx.x);
    report->expected = expected;
    report->seen = seen;
    store_release(phase, phase_and_peer >> 16U);
  }
  asm volatile("exit;");
  __builtin_unreachable();
}

/// Waits for all threads of the block that still run. Ends them if one has given up, so that the
/// block sends nothing that it made of data that did not come. All of them must call it.
__device__ inline void end_if_any_gave_up() {
  if (__syncthreads_count(1) == static_cast<int>(blockDim.x)) return;
  asm volatile("exit;");
  __builtin_unreachable();
}

/// Calls `ask` until `is_there` says that what was asked for is there; `seen` is what was there
/// instead. Now and then looks whether that takes too long, between the two, while an answer is
/// under way: what is done after the answer makes every wait longer, and that is no more than
/// without a bound.
template <typename Ask, typename IsThere, typename Seen>
__device__ void wait_until(Ask ask, IsThere is_there, const WaitBound& bound,
                           const Awaited& awaited, Seen seen) {
  if constexpr (kMutant == Mutant::unbounded_wait) {
#pragma unroll 1
    do {
      ask();
    } while (!is_there());
    return;
  }
  constexpr std::uint32_t kAsksBetweenLooks = 1 << 10;
  constexpr int kTick = 20;  // 2^20 ns, so that times fit a register
  const std::uint32_t phase_and_peer =
      static_cast<std::uint32_t>(awaited.phase) << 16U | static_cast<std::uint32_t>(awaited.peer);
  std::uint32_t first_look = 0;
  std::uint32_t asks = 0;
#pragma unroll 1
  do {
    ask();
    if (++asks % kAsksBetweenLooks == 0) {
      const auto now = static_cast<std::uint32_t>(global_nanoseconds() >> kTick);
      if (first_look == 0) first_look = now;
      const volatile WaitReport* report = bound.report;  // of another thread, too
      if (now - first_look >= static_cast<std::uint32_t>(bound.nanoseconds >> kTick) ||
          (report != nullptr && report->phase != WaitPhase::none)) {
        if (!is_there()) give_up(bound.report, phase_and_peer, awaited.expected, seen());
      }
    }
  } while (!is_there());
}

/// Waits until both flags are what is expected.
__device__ inline uint2 wait_for_packet(const LLPacket* from, const WaitBound& bound,
                                        const Awaited& awaited) {
  uint4 packet;
  wait_until([&] { packet = load_packet(from); },
             [&] { return packet.y == awaited.expected && packet.w == awaited.expected; }, bound,
             awaited, [&] { return packet.y == awaited.expected ? packet.w : packet.y; });
  return make_uint2(packet.x, packet.z);
}

/// Waits until *counter, which others count up, has come to `expected`; the numbers may wrap after
/// 2^32. What was written before is seen after.
__device__ inline void wait_for_count(const std::uint32_t* counter, const WaitBound& bound,
                                      const Awaited& awaited) {
  std::uint32_t count = 0;
  // What acquires is waited for at once, so that the look comes before it.
  wait_until([] {},
             [&] {
               count = load_acquire(counter);
               return static_cast<std::int32_t>(count - awaited.expected) >= 0;
             },
             bound, awaited, [&] { return count; });
}

/// Waits until *counter, which blocks of this device write, is `value`. A fence must follow.
__device__ inline void wait_for_turn(const volatile unsigned* counter, unsigned value,
                                     const WaitBound& bound) {
  unsigned count = 0;
  wait_until([&] { count = *counter; }, [&] { return count == value; }, bound,
             Awaited{WaitPhase::turn, 0, value}, [&] { return count; });
}

/// Above the clock of any GPU, so that a working timer ends a kernel first.
inline constexpr double kMostCyclesPerMicrosecond = 4000.0;

/// How long a kernel may take: by the device-wide timer (which may advance in steps of a
/// microsecond) or, should that stand still, by the multiprocessor's clock. Counts from when a
/// thread makes one.
class TimeLimit {
 public:
  struct Arguments {
    std::uint64_t nanoseconds;
    long long most_cycles;
  };

  /// Returns what the host launches the kernel with. `microseconds` is not negative.
  static Arguments arguments(double microseconds) {
    return {static_cast<std::uint64_t>(microseconds * 1e3),
            static_cast<long long>(microseconds * kMostCyclesPerMicrosecond)};
  }

  __device__ explicit TimeLimit(const Arguments& arguments)
      : arguments_(arguments), start_(global_nanoseconds()), start_cycle_(cycles()) {}

  __device__ bool passed() const {
    return global_nanoseconds() - start_ >= arguments_.nanoseconds ||
           cycles() - start_cycle_ >= arguments_.most_cycles;
  }

 private:
  static __device__ long long cycles() {
    long long now = 0;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
    return now;
  }

  Arguments arguments_;
  std::uint64_t start_;
  long long start_cycle_;
};

/// Waits the same way, but no longer than the limit.
__device__ inline void wait_for_count(const std::uint32_t* counter, std::uint32_t value,
                                      const TimeLimit& limit) {
  while (static_cast<std::int32_t>(load_acquire(counter) - value) < 0 && !limit.passed()) {
  }
}

}  // namespace linkgain::kernels
