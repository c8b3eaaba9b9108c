#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "linkgain/gpu/stream.hpp"
#include "timed_communication.hpp"

namespace linkgain::test {

/// Events on two streams of the current device, which must outlive it. Events are used again.
class GpuLaneMarks : public LaneMarks {
 public:
  GpuLaneMarks(cudaStream_t model, cudaStream_t communication)
      : model_(model), communication_(communication) {}

 private:
  std::size_t do_put(Lane lane) override {
    if (used_ == events_.size()) events_.emplace_back();
    events_[used_].record(lane == Lane::model ? model_ : communication_);
    return used_++;
  }

  void do_hold_communication(std::size_t mark) override { events_[mark].hold(communication_); }

  std::vector<double> do_read() override {
    std::vector<double> times;
    for (std::size_t i = 0; i < used_; ++i) {
      events_[i].synchronize();
      times.push_back(gpu::elapsed(events_[0], events_[i]).value);
    }
    used_ = 0;
    return times;
  }

  cudaStream_t model_;
  cudaStream_t communication_;
  std::vector<gpu::Event> events_;
  std::size_t used_ = 0;
};

}  // namespace linkgain::test
