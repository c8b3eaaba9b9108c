#pragma once

#include <optional>
#include <string>

#include "kernels/copy/copy.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {

/// Moves bytes between two places that the current device reaches: by its copy engine, or by a
/// kernel, whose shape is found by trying.
class CopyWorker {
 public:
  explicit CopyWorker(bool by_kernel);

  /// Tries the kernel's shapes on these places and keeps the fastest; nothing to do for a copy
  /// engine. Blocks. Throws CudaError.
  void tune(void* to, const void* from, Bytes size, const gpu::Stream& stream);

  /// Puts a copy into the stream. Throws CudaError.
  void copy(void* to, const void* from, Bytes size, const gpu::Stream& stream) const;

  /// "copy engine", "kernel of 132 x 512 threads, 4 vectors each"; before tune() "kernel".
  std::string form() const;

 private:
  bool by_kernel_;
  std::optional<kernels::CopyShape> shape_;
};

}  // namespace linkgain
