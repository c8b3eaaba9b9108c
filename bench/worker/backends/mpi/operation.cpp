#include "mpi/operation.hpp"

#include <mpi.h>

#include <cstring>
#include <vector>

#include "data_mapping.hpp"
#include "mpi/calls.hpp"
#include "mpi/host_check.hpp"

namespace linkgain {
namespace {

void poison(std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), kernels::kPoisonByte, bytes.size());
}

std::span<std::byte> part_of(std::span<std::byte> slot, Bytes offset, Bytes size) {
  if (size.value == 0) return {};
  return slot.subspan(static_cast<std::size_t>(offset.value), static_cast<std::size_t>(size.value));
}

}  // namespace

MpiOperation::MpiOperation(const Case& c, const BufferPlan& plan, int rank)
    : definition_(c),
      plan_(plan),
      rank_(rank),
      pattern_(verification_pattern(c)),
      buffers_(mpi_buffers(c, rank)),
      first_(slot_bytes(c, rank).first, plan.slots),
      second_(slot_bytes(c, rank).second, plan.slots) {
  require_mpi_has(c);
  fill(0);
  for (std::int64_t slot = 1; slot < plan_.slots; ++slot) {
    for (HostPool* pool : {&first_, &second_}) {
      const std::span<std::byte> filled = pool->slot(0);
      if (!filled.empty()) std::memcpy(pool->slot(slot).data(), filled.data(), filled.size());
    }
  }
}

std::span<std::byte> MpiOperation::input(std::int64_t slot) {
  return part_of(first_.slot(slot), buffers_.input_offset, buffers_.input);
}

std::span<std::byte> MpiOperation::output(std::int64_t slot) {
  HostPool& pool = definition_.in_place ? first_ : second_;
  return part_of(pool.slot(slot), buffers_.output_offset, buffers_.output);
}

void MpiOperation::fill(std::int64_t slot) {
  poison(first_.slot(slot));
  poison(second_.slot(slot));
  fill_input(input(slot), pattern_, rank_);
}

void MpiOperation::run_once(std::int64_t slot) {
  call_mpi(definition_, rank_, input(slot).data(), output(slot).data());
}

void MpiOperation::do_warm_up() { run_once(0); }

void MpiOperation::do_run(std::int64_t operations) {
  for (std::int64_t done = 0; done < operations; done += plan_.operations_per_slot) {
    run_once(next_slot_);
    next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
  }
}

std::optional<Seconds> MpiOperation::do_time_batch(std::int64_t operations) {
  const double start = MPI_Wtime();
  do_run(operations);
  const double stop = MPI_Wtime();
  if (!takes_part(definition_, rank_)) return std::nullopt;
  return Seconds{stop - start};
}

Verification MpiOperation::do_verify(bool corrupt) {
  fill(0);
  run_once(0);
  const std::span<std::byte> out = output(0);
  const std::vector<ExpectedPart> parts = expected_parts(definition_, rank_);
  if (out.empty() || parts.empty()) return {};
  if (corrupt) out[out.size() / 2] ^= std::byte{1};
  return check_parts(out, pattern_, parts);
}

Execution MpiOperation::do_execution() const {
  Execution execution;
  execution.buffer_slots = plan_.slots;
  execution.cold_data = plan_.cold;
  return execution;
}

}  // namespace linkgain
