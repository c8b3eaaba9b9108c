#include "linkgain/gpu/graph.hpp"

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

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
