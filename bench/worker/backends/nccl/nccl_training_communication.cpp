#include <cstddef>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "linkgain/gpu/stream.hpp"
#include "nccl/nccl_calls.hpp"

namespace linkgain {
namespace {

class NcclTrainingCommunication : public TrainingCommunication {
 public:
  NcclTrainingCommunication(ncclComm_t communicator, cudaStream_t model_stream,
                            gpu::StreamPriority priority)
      : communicator_(communicator), model_stream_(model_stream), stream_(priority) {
    check(nccl().comm_user_rank(communicator, &rank_));
    check(nccl().comm_count(communicator, &ranks_));
  }

 private:
  int do_rank() const override { return rank_; }
  int do_ranks() const override { return ranks_; }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    memory.require(range);
    void* const data = memory.at(range.offset);
    const ncclDataType_t type = nccl_type(memory.type);
    return enqueue([&] {
      check(nccl().all_reduce(data, data, static_cast<std::size_t>(range.count), type, ncclSum,
                              communicator_, stream_.get()));
    });
  }

  /// Reduces in place, as NCCL has it: a rank's shard is where its number times their size points
  /// to.
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    memory.require(range);
    const ParameterRange shard = shard_of(range, rank_, ranks_);
    const ncclDataType_t type = nccl_type(memory.type);
    return enqueue([&] {
      check(nccl().reduce_scatter(memory.at(range.offset), memory.at(shard.offset),
                                  static_cast<std::size_t>(shard.count), type, ncclSum,
                                  communicator_, stream_.get()));
    });
  }

  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    memory.require(range);
    const ParameterRange shard = shard_of(range, rank_, ranks_);
    const ncclDataType_t type = nccl_type(memory.type);
    return enqueue([&] {
      check(nccl().all_gather(memory.at(shard.offset), memory.at(range.offset),
                              static_cast<std::size_t>(shard.count), type, communicator_,
                              stream_.get()));
    });
  }

  /// Enqueues: `work` puts an operation into stream_, after all that the model has enqueued.
  template <typename Work>
  CommunicationTicket enqueue(const Work& work) {
    model_has_come_here_.record(model_stream_);
    model_has_come_here_.hold(stream_);
    work();
    if (spare_.empty()) spare_.emplace_back(gpu::TimeStamps::left_out);
    spare_.back().record(stream_);
    flights_.emplace(next_, std::move(spare_.back()));
    spare_.pop_back();
    return {next_++};
  }

  /// Has the model's stream wait for the ticket, which stays, so that the event is free again.
  void do_wait(CommunicationTicket ticket) override {
    const auto found = flights_.find(ticket.number);
    if (found == flights_.end()) throw std::logic_error("no such ticket, or waited for twice");
    found->second.hold(model_stream_);
    spare_.push_back(std::move(found->second));
    flights_.erase(found);
  }

  /// Checks for errors: NCCL moves data by itself, and what it has come across is told here instead
  /// of never.
  void do_progress() override {
    ncclResult_t state = ncclSuccess;
    check(nccl().comm_get_async_error(communicator_, &state));
    check(state);
  }

  void* do_stream() override { return stream_.get(); }

  ncclComm_t communicator_;
  cudaStream_t model_stream_;
  int rank_ = 0;
  int ranks_ = 1;
  gpu::Stream stream_;
  gpu::Event model_has_come_here_{gpu::TimeStamps::left_out};
  std::vector<gpu::Event> spare_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, gpu::Event> flights_;  ///< ends that are not waited for yet, by number
};

}  // namespace

std::unique_ptr<TrainingCommunication> make_nccl_training_communication(
    ncclComm_t communicator, cudaStream_t model_stream, gpu::StreamPriority priority) {
  return std::make_unique<NcclTrainingCommunication>(communicator, model_stream, priority);
}

}  // namespace linkgain
