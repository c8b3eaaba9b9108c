#include "linkgain/gpu/stream.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

using StreamFlagFunction = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

StreamFlagFunction wait_function() {
  static const auto function =
      reinterpret_cast<StreamFlagFunction>(driver_function("cuStreamWaitValue32"));
  return function;
}

StreamFlagFunction write_function() {
  static const auto function =
      reinterpret_cast<StreamFlagFunction>(driver_function("cuStreamWriteValue32"));
  return function;
}

void check_driver(CUresult status) {
  if (status == CUDA_SUCCESS) return;
  throw MachineError(fmt::format("CUDA's driver refused a stream's operation on memory (error {})",
                                 static_cast<int>(status)),
                     "copies by kernel (--kernels) go through the host without it");
}

CUdeviceptr address_of(const std::uint32_t* flag) { return reinterpret_cast<CUdeviceptr>(flag); }

/// A capture under way; ends it on every way out.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }

  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  ~Capture() {
    if (ended_) return;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    // An invalidated capture is reported here; it is not the next caller's error.
    cudaGetLastError();
  }

  Graph end() {
    // Ends the capture also where it fails.
    ended_ = true;
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    Graph result(graph);
    check(status);
    return result;
  }

 private:
  cudaStream_t stream_;
  bool ended_ = false;
};

}  // namespace

Stream::Stream(StreamPriority priority) {
  int lowest = 0;  // also the usual one
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     priority == StreamPriority::highest ? highest : lowest));
  handle_.reset(stream);
}

void Stream::synchronize() const { check(cudaStreamSynchronize(handle_.get())); }

bool Stream::done() const {
  const cudaError_t status = cudaStreamQuery(handle_.get());
  if (status == cudaErrorNotReady) {
    // The runtime remembers it like an error; the next check of a launch would report it.
    cudaGetLastError();
    return false;
  }
  check(status);
  return true;
}

void Stream::Destroy::operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }

Event::Event(TimeStamps stamps) {
  cudaEvent_t event = nullptr;
  const unsigned flags = stamps == TimeStamps::taken ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event, flags));
  handle_.reset(event);
}

void Event::record(cudaStream_t stream) { check(cudaEventRecord(handle_.get(), stream)); }

void Event::hold(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, handle_.get(), 0));
}

void Event::synchronize() const { check(cudaEventSynchronize(handle_.get())); }

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(handle_.get());
  if (status == cudaErrorNotReady) {
    // The runtime remembers it like an error; the next check of a launch would report it.
    cudaGetLastError();
    return false;
  }
  check(status);
  return true;
}

void Event::Destroy::operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }

Seconds elapsed(const Event& start, const Event& stop) {
  float milliseconds = 0.0F;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return Seconds{static_cast<double>(milliseconds) * 1e-3};
}

bool has_stream_flags() { return wait_function() != nullptr && write_function() != nullptr; }

void wait_for_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) {
  check_driver(wait_function()(stream.get(), address_of(flag), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) {
  check_driver(
      write_function()(stream.get(), address_of(flag), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void Graph::Destroy::operator()(cudaGraph_t graph) const noexcept { cudaGraphDestroy(graph); }

GraphExecutable::GraphExecutable(const Graph& graph) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiateWithFlags(&executable, graph.get(), 0));
  handle_.reset(executable);
}

void GraphExecutable::launch(const Stream& stream) const {
  check(cudaGraphLaunch(handle_.get(), stream.get()));
}

void GraphExecutable::Destroy::operator()(cudaGraphExec_t executable) const noexcept {
  cudaGraphExecDestroy(executable);
}

GraphExecutable capture(const Stream& stream, const std::function<void()>& work) {
  Capture under_way(stream.get());
  work();
  return GraphExecutable(under_way.end());
}

}  // namespace linkgain::gpu
