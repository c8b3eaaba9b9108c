#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/training_communication.hpp"

namespace linkgain::test {

/// What goes wrong on this rank, by numbers that count from 0 on since count_anew(), and what was
/// asked for so far. Scalars do not count.
struct CommunicationFaults {
  bool spoils_all_sums = false;
  std::optional<std::int64_t> spoilt_sum;       ///< what of it is this rank's begins with 1 more
  std::optional<std::int64_t> poisoned_gather;  ///< becomes NaN
  std::int64_t sums = 0;
  std::int64_t gathers = 0;

  void count_anew() { sums = gathers = 0; }
};

/// Another one's operations on doubles, which come to grief as `faults` say.
class SpoiltCommunication : public TrainingCommunication {
 public:
  SpoiltCommunication(std::unique_ptr<TrainingCommunication> inner, CommunicationFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

 private:
  enum class Harm { none, one_more, no_number };
  struct Pending {
    Harm harm;
    double* values;
    ParameterRange range;
  };

  int do_rank() const override { return inner_->rank(); }
  int do_ranks() const override { return inner_->ranks(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return remember(inner_->all_reduce(memory, range), memory, range, harm_to_sum(range));
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    return remember(inner_->reduce_scatter(memory, range), memory, range, harm_to_sum(range));
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    const bool harms = faults_.gathers++ == faults_.poisoned_gather;
    return remember(inner_->all_gather(memory, range), memory, range,
                    harms ? Harm::no_number : Harm::none);
  }
  void do_progress() override { inner_->progress(); }

  void do_wait(CommunicationTicket ticket) override {
    inner_->wait(ticket);
    const Pending done = pending_.at(ticket.number);
    pending_.erase(ticket.number);
    if (done.harm == Harm::one_more) {
      done.values[shard_of(done.range, inner_->rank(), inner_->ranks()).offset] += 1.0;
    } else if (done.harm == Harm::no_number) {
      for (std::int64_t i = done.range.offset; i < done.range.end(); ++i) {
        done.values[i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }

  Harm harm_to_sum(const ParameterRange& range) {
    if (range.count == 1) return Harm::none;
    const bool harms = faults_.sums++ == faults_.spoilt_sum || faults_.spoils_all_sums;
    return harms ? Harm::one_more : Harm::none;
  }

  CommunicationTicket remember(CommunicationTicket ticket, const FlatMemory& memory,
                               const ParameterRange& range, Harm harm) {
    pending_[ticket.number] = {harm, static_cast<double*>(memory.data), range};
    return ticket;
  }

  std::unique_ptr<TrainingCommunication> inner_;
  CommunicationFaults& faults_;
  std::map<std::int64_t, Pending> pending_;
};

/// Another one's, with such communication. Opens no operations.
class SpoiltBackend : public Backend {
 public:
  explicit SpoiltBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  CommunicationFaults faults;

 private:
  BackendKind do_kind() const override { return inner_->kind(); }
  std::optional<GpuInfo> do_gpu() const override { return {}; }
  void do_connect() override { inner_->connect(); }
  std::unique_ptr<Operation> do_open(const Case&, const std::optional<Rotation>&) override {
    return nullptr;
  }
  std::unique_ptr<TrainingCommunication> do_open_training_communication(void* stream) override {
    return std::make_unique<SpoiltCommunication>(inner_->open_training_communication(stream),
                                                 faults);
  }
  std::unique_ptr<HostCopy> do_open_host_copy() override { return nullptr; }
  void do_keep_busy(Seconds) override {}
  void do_describe(Software&) const override {}
  LogSwitch do_log_switch() const override { return nullptr; }
  std::optional<Path> do_path() const override { return {}; }

  std::unique_ptr<Backend> inner_;
};

}  // namespace linkgain::test
