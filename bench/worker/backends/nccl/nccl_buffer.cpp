#include "nccl/nccl_buffer.hpp"

#include <cstddef>

#include "linkgain/gpu/buffer.hpp"
#include "nccl/api.hpp"

namespace linkgain {

NcclBuffer::NcclBuffer(Bytes size, Buffers kind, ncclComm_t communicator)
    : size_(size),
      kind_(kind),
      memory_(nullptr, Free{size}),
      registration_(nullptr, Deregister{communicator}),
      window_(nullptr, CloseWindow{communicator}) {
  if (kind == Buffers::plain) {
    plain_.emplace(size);
    return;
  }
  require_buffers(nccl(), kind);
  if (size.value == 0) return;
  const auto bytes = static_cast<std::size_t>(size.value);
  void* memory = nullptr;
  check(nccl().mem_alloc(&memory, bytes));
  memory_.reset(memory);
  if (kind != Buffers::registered) return;
  void* handle = nullptr;
  check(nccl().comm_register(communicator, memory, bytes, &handle));
  registration_.reset(handle);
}

void NcclBuffer::prepare() {
  if (kind_ != Buffers::symmetric || size_.value == 0) return;
  window_.reset(register_window(window_.get_deleter().communicator, memory_.get(), size_));
}

void NcclBuffer::Free::operator()(void* memory) const noexcept {
  const gpu::AddressRange range = gpu::range_of(memory, size);
  nccl().mem_free(memory);
  gpu::retire(range);
}

void NcclBuffer::Deregister::operator()(void* handle) const noexcept {
  nccl().comm_deregister(communicator, handle);
}

void NcclBuffer::CloseWindow::operator()(void* window) const noexcept {
  deregister_window(communicator, window);
}

}  // namespace linkgain
