#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "linkgain/runtime/training_communication.hpp"
#include "overlap_parts.hpp"

namespace linkgain::test {

/// What a rank enqueues goes to one of two streams.
enum class Lane { model, communication };

/// Marks between the things that a rank enqueues.
class LaneMarks {
 public:
  virtual ~LaneMarks() = default;

  /// Marks the present end of a lane; the mark's number, from 0 on since the last read().
  std::size_t put(Lane lane) { return do_put(lane); }

  /// Lets what is put into the lane of communication from now on start after the mark.
  void hold_communication(std::size_t mark) { do_hold_communication(mark); }

  /// Waits for all marks. When each was passed, in seconds since the first; none are left then.
  std::vector<double> read() { return do_read(); }

 private:
  virtual std::size_t do_put(Lane lane) = 0;
  virtual void do_hold_communication(std::size_t mark) = 0;
  virtual std::vector<double> do_read() = 0;
};

/// How a step communicates: of its operations, which are counted from 0, those in first … last - 1
/// are performed. The others do nothing, and so does waiting for them, so that a step of which
/// none is performed has the kernels of a step without communication.
struct StepMode {
  std::size_t first = 0;
  std::size_t last = std::numeric_limits<std::size_t>::max();
  bool is_watched = false;  ///< whether marks are put
};

/// Passes operations on and knows when they run. Unwatched it enqueues nothing of its own. Watched
/// it puts marks: on the model's lane where a step begins, where an operation is enqueued, after
/// the last wait and where the step ends; on that of communication before and after the operation,
/// the first of which holds for what the operation itself waits for. `marks` must outlive it.
class TimedCommunication : public TrainingCommunication {
 public:
  TimedCommunication(std::unique_ptr<TrainingCommunication> inner, LaneMarks& marks)
      : inner_(std::move(inner)), marks_(marks) {}

  /// Begins a step; between steps all operations are passed on and nothing is watched.
  void begin_step(const StepMode& mode) {
    require_rest();
    mode_ = mode;
    operations_ = 0;
    if (!mode_.is_watched) return;
    steps_.push_back({.begin = marks_.put(Lane::model), .operations = {}});
  }

  void end_step() {
    require_rest();
    if (mode_.is_watched) steps_.back().finish = marks_.put(Lane::model);
    mode_ = {};
  }

  /// Waits. The watched steps since the last call.
  std::vector<StepTimes> read() {
    require_rest();
    const std::vector<double> times = marks_.read();
    std::vector<StepTimes> result;
    for (const Step& step : steps_) {
      result.push_back({.begin = times[step.begin],
                        .operations = {},
                        .resumed = times[step.resumed],
                        .finish = times[step.finish]});
      for (const Operation& each : step.operations) {
        result.back().operations.push_back({times[each.ready], times[each.start], times[each.end]});
      }
    }
    steps_.clear();
    return result;
  }

 private:
  /// Numbers of marks.
  struct Operation {
    std::size_t ready;
    std::size_t start;
    std::size_t end;
  };
  struct Step {
    std::size_t begin = 0;
    std::vector<Operation> operations;
    std::size_t resumed = 0;
    std::size_t finish = 0;
  };

  int do_rank() const override { return inner_->rank(); }
  int do_ranks() const override { return inner_->ranks(); }
  void do_progress() override { inner_->progress(); }
  void* do_stream() override { return inner_->stream(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return enqueue([&] { return inner_->all_reduce(memory, range); });
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    return enqueue([&] { return inner_->reduce_scatter(memory, range); });
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return enqueue([&] { return inner_->all_gather(memory, range); });
  }

  template <typename Work>
  CommunicationTicket enqueue(const Work& work) {
    const std::size_t place = operations_++;
    const bool is_performed = mode_.first <= place && place < mode_.last;
    std::optional<CommunicationTicket> ticket;
    if (mode_.is_watched) {
      const std::size_t ready = marks_.put(Lane::model);
      Operation marks{ready, ready, ready};
      if (is_performed) {
        marks_.hold_communication(ready);
        marks.start = marks_.put(Lane::communication);
        ticket = work();
        marks.end = marks_.put(Lane::communication);
      }
      steps_.back().operations.push_back(marks);
    } else if (is_performed) {
      ticket = work();
    }
    flights_.emplace(next_, ticket);
    return {next_++};
  }

  void do_wait(CommunicationTicket ticket) override {
    const auto found = flights_.find(ticket.number);
    if (found == flights_.end()) throw std::logic_error("no such ticket, or waited for twice");
    const std::optional<CommunicationTicket> inner = found->second;
    flights_.erase(found);
    if (inner) inner_->wait(*inner);
    if (mode_.is_watched && flights_.empty()) steps_.back().resumed = marks_.put(Lane::model);
  }

  void require_rest() const {
    if (!flights_.empty()) throw std::logic_error("operations of a step are still under way");
  }

  std::unique_ptr<TrainingCommunication> inner_;
  LaneMarks& marks_;
  StepMode mode_;
  std::size_t operations_ = 0;  ///< of the step so far
  std::int64_t next_ = 0;
  /// Not waited for yet, by number; without a ticket where the operation is not performed.
  std::map<std::int64_t, std::optional<CommunicationTicket>> flights_;
  std::vector<Step> steps_;
};

}  // namespace linkgain::test
