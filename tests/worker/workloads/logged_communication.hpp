#pragma once

#include <memory>
#include <utility>

#include "linkgain/runtime/training_communication.hpp"
#include "thread_communication.hpp"

namespace linkgain::test {

/// Passes operations on and writes them into a log that a model writes into, too. `log` must
/// outlive it.
class LoggedCommunication : public TrainingCommunication {
 public:
  LoggedCommunication(std::unique_ptr<TrainingCommunication> inner, EventLog& log)
      : inner_(std::move(inner)), log_(log) {}

 private:
  int do_rank() const override { return inner_->rank(); }
  int do_ranks() const override { return inner_->ranks(); }
  void* do_stream() override { return inner_->stream(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return logged("all_reduce", inner_->all_reduce(memory, range), range);
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    return logged("reduce_scatter", inner_->reduce_scatter(memory, range), range);
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return logged("all_gather", inner_->all_gather(memory, range), range);
  }

  void do_wait(CommunicationTicket ticket) override {
    log_.push_back({"wait", ticket.number, {}});
    inner_->wait(ticket);
  }

  void do_progress() override {
    log_.push_back({"progress", 0, {}});
    inner_->progress();
  }

  CommunicationTicket logged(const char* what, CommunicationTicket ticket,
                             const ParameterRange& range) {
    log_.push_back({what, ticket.number, range});
    return ticket;
  }

  std::unique_ptr<TrainingCommunication> inner_;
  EventLog& log_;
};

}  // namespace linkgain::test
