#include "mpi/host_pool.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr std::int64_t kPageBytes = 4096;

}  // namespace

HostPool::HostPool(std::int64_t slot_bytes, std::int64_t slots) : slot_bytes_(slot_bytes) {
  if (slot_bytes == 0) return;
  const auto whole_pages = static_cast<std::size_t>(round_up(slot_bytes * slots, kPageBytes));
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, whole_pages)));
  if (!memory_) {
    throw MachineError(
        fmt::format("no {} of memory for buffers", readable_bytes({slot_bytes * slots})),
        "measure smaller sizes with --sizes");
  }
}

std::span<std::byte> HostPool::slot(std::int64_t index) {
  if (!memory_) return {};
  return {memory_.get() + index * slot_bytes_, static_cast<std::size_t>(slot_bytes_)};
}

void HostPool::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace linkgain
