#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "linkgain/base/units.hpp"

namespace linkgain::gpu {

/// Whether kernels of a stream go before those of others that wait for room on the device.
enum class StreamPriority { usual, highest };

/// Owns a CUDA stream of the device that was current at construction. Movable, not copyable. It
/// does not wait for the default stream. Everything throws CudaError.
class Stream {
 public:
  Stream() : Stream(StreamPriority::usual) {}
  explicit Stream(StreamPriority priority);

  cudaStream_t get() const noexcept { return handle_.get(); }

  /// Blocks until all that was put in is done; throws what the work ended with.
  void synchronize() const;

  /// Returns whether all that was put in is done; throws what the work ended with.
  bool done() const;

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept;
  };
  std::unique_ptr<CUstream_st, Destroy> handle_;
};

enum class TimeStamps { taken, left_out };

/// Owns a CUDA event of the device that was current at construction. Movable, not copyable.
/// Everything throws CudaError.
class Event {
 public:
  Event() : Event(TimeStamps::taken) {}
  /// Makes an event. Without time stamps events cost streams less, but elapsed() refuses them.
  explicit Event(TimeStamps stamps);

  cudaEvent_t get() const noexcept { return handle_.get(); }

  /// Marks the present end of `stream`, which must be of the same device.
  void record(cudaStream_t stream);
  void record(const Stream& stream) { record(stream.get()); }

  /// Holds what is put into `stream`, of any device, from now on until after the work before the
  /// mark as it is now: recording anew changes nothing for it. The host does not wait.
  void hold(cudaStream_t stream) const;
  void hold(const Stream& stream) const { hold(stream.get()); }

  /// Blocks until the work before the mark is done. At once if never recorded.
  void synchronize() const;

  /// Returns whether the work before the mark is done. True if never recorded.
  bool done() const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept;
  };
  std::unique_ptr<CUevent_st, Destroy> handle_;
};

/// Returns the device time between two recorded events whose work is done, by a clock of about 0.5
/// us.
Seconds elapsed(const Event& start, const Event& stop);

/// Returns whether the driver has the two operations below.
bool has_stream_flags();

/// Blocks the stream until *flag, a counter in page-locked host memory, has come to `value`; the
/// numbers may wrap after 2^32. Not to be captured. Throws CudaError.
void wait_for_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value);

/// Writes `value` when all work before it in the stream is done and can be seen by everybody.
void write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value);

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
