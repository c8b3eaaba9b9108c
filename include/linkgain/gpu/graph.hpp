#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Owns a CUDA graph: work as it was captured. Movable, not copyable.
class Graph {
 public:
  /// Takes over `graph`.
  explicit Graph(cudaGraph_t graph) noexcept : handle_(graph) {}

  cudaGraph_t get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(cudaGraph_t graph) const noexcept;
  };
  std::unique_ptr<CUgraph_st, Destroy> handle_;
};

/// Owns a graph made ready to launch; the Graph it is made from is not needed afterwards. Movable,
/// not copyable. Throws CudaError.
class GraphExecutable {
 public:
  explicit GraphExecutable(const Graph& graph);

  cudaGraphExec_t get() const noexcept { return handle_.get(); }

  /// Puts the captured work into `stream`.
  void launch(const Stream& stream) const;

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t executable) const noexcept;
  };
  std::unique_ptr<CUgraphExec_st, Destroy> handle_;
};

/// Runs `work`, which puts work into `stream`, and returns that work as a graph; nothing of it is
/// carried out. When `work` throws, the capture is ended, `stream` can be used again, and the
/// exception goes on. Only this thread is kept from calls that a capture forbids. Throws CudaError.
GraphExecutable capture(const Stream& stream, const std::function<void()>& work);

}  // namespace linkgain::gpu
