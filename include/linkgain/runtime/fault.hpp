#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/delivery.hpp"

namespace linkgain {

/// What a test has wrong with one of a rank's outputs when it is verified.
enum class Spoil {
  nothing,
  bit,         ///< one is flipped, in the middle
  element,     ///< all bits of one in the middle are
  last,        ///< a bit of the last element is
  stale,       ///< it is what the operation before had left, as if this one had been skipped
  wrong_rank,  ///< a part of it is another rank's input
  swapped,     ///< the halves of a part have each other's place
};

/// A failure that tests order through LINKGAIN_TEST_FAULT=kind@rank[:N][/place]. `corrupt`,
/// `element`, `last`, `stale`, `wrong-rank` and `swapped` spoil an output of that rank before it is
/// verified, as Spoil says (`corrupt`: a bit). `die` ends the rank, `hang` holds it up for ever and
/// `late` for two seconds, of which it tells on standard error, `stop` stops it (by SIGSTOP),
/// `garbage` has rank 0 answer with what is no reply: at a place, which is `batch` unless another
/// one is named, of the N-th timed batch (1 is the first, calibration not counted). Of what
/// `--prove` writes into the other GPU's memory: `drop` writes nothing, `stale` only the first
/// data, `own-window` writes into the rank's own memory, `unmapped` where no memory is, and `hang`
/// stops before; on every rung, or on the one that is named as a place.
struct Fault {
  enum class Kind {
    corrupt,
    element,
    last,
    stale,
    wrong_rank,
    swapped,
    die,
    hang,
    late,
    stop,
    garbage,
    drop,
    own_window,
    unmapped,
  };
  enum class Place {
    launch,     ///< before MPI starts
    start,      ///< before the ranks make their backends
    connect,    ///< before they connect
    open,       ///< before a case's operation is made
    warm_up,    ///< before its first time: kernels of the others wait for this rank's
    batch,      ///< before the barrier in front of a batch
    operation,  ///< behind it: the others are in the operation, and wait
    reply,      ///< before rank 0 tells what the batch took
    verify,     ///< behind the barrier in front of it: the others are in the operation, and wait
    close,      ///< before a case's operation is released
    end,        ///< before MPI ends
  };
  Kind kind = Kind::corrupt;
  int rank = 0;
  std::int64_t batch = 1;
  Place place = Place::batch;
  std::optional<ProofRung> rung{};  ///< that alone has it: nothing else obeys
};

/// Obeys `fault` at that place of this rank: it may not return, or late. `batch` counts timed ones
/// from 1.
void obey(const std::optional<Fault>& fault, int rank, Fault::Place place, std::int64_t batch = 1);

/// Reads a fault; nothing for an empty text; throws UsageError for any other that is no fault.
std::optional<Fault> parse_fault(std::string_view text);

/// Returns what a rank's verifications have wrong by `fault`.
Spoil spoil_of(const std::optional<Fault>& fault, int rank);

/// Spoils the bytes of a part of an output, whole elements of that size, where it takes no other
/// data: with Spoil::bit, element, last and swapped. Others leave them as they are.
void spoil_part(std::span<std::byte> part, Bytes element, Spoil spoil);

/// Returns what LINKGAIN_TEST_FAULT orders.
std::optional<Fault> fault_from_environment();

}  // namespace linkgain
