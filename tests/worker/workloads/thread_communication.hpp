#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "linkgain/runtime/training_communication.hpp"

/// Ranks that are threads of one process, strict about what TrainingCommunication asks for.
namespace linkgain::test {

/// A NaN that no computation makes: stands where nothing may be read.
inline constexpr std::uint64_t kPoisonBits = 0x7ff8'dead'beef'0bad;

inline bool is_poison(double value) { return std::bit_cast<std::uint64_t>(value) == kPoisonBits; }

inline void poison(double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(values + i, &kPoisonBits, sizeof(double));
}

/// What a rank's model and communication did, in order.
struct Event {
  std::string what;  ///< "all_reduce", "wait", "forward", "backward", "backward ended", "progress"
  std::int64_t number = 0;  ///< of the ticket or the segment
  ParameterRange range;     ///< of communication
};

using EventLog = std::vector<Event>;

struct Call {
  std::string kind;
  ParameterRange range;
  std::vector<double> input;
};

/// Where the ranks' threads meet.
class ThreadExchange {
 public:
  explicit ThreadExchange(int ranks) : ranks_(ranks) {}

  int ranks() const { return ranks_; }

  void submit(std::int64_t number, int rank, Call call) {
    const std::lock_guard lock(mutex_);
    std::map<int, Call>& calls = calls_[number];
    for (const auto& [other, theirs] : calls) {
      if (theirs.kind != call.kind || theirs.range != call.range) {
        throw std::logic_error("ranks do not call the same operations in the same order");
      }
    }
    calls.emplace(rank, std::move(call));
    changed_.notify_all();
  }

  /// Blocks until all ranks submitted their call `number`.
  std::vector<Call> collect(std::int64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return is_over_ || static_cast<int>(calls_[number].size()) == ranks_; });
    if (is_over_) throw std::runtime_error("another rank failed");
    std::vector<Call> calls;
    for (const auto& [rank, call] : calls_[number]) calls.push_back(call);
    return calls;
  }

  /// Ends the exchange for a rank that failed, so that no other one waits for it.
  void give_up() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, std::map<int, Call>> calls_;  ///< by number and rank
  bool is_over_ = false;
};

/// Takes the input and poisons the memory when an operation is enqueued, and puts the result there
/// when it is waited for: who reads too early gets NaN, and who writes meanwhile is found out. Only
/// for float64 in host memory, where the model has computed whatever it has enqueued.
class ThreadCommunication : public TrainingCommunication {
 public:
  ThreadCommunication(ThreadExchange& exchange, int rank, EventLog& log)
      : exchange_(exchange), rank_(rank), log_(log) {}

  /// Changes the first element of this rank's sums from now on by the least that there is.
  void spoil_sums() { spoils_sums_ = true; }

  double sent_bytes() const { return sent_bytes_; }
  std::size_t in_flight() const { return flights_.size(); }

 private:
  struct Flight {
    std::string kind;
    double* values;
    ParameterRange range;
  };

  int do_rank() const override { return rank_; }
  int do_ranks() const override { return exchange_.ranks(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return enqueue("all_reduce", memory, range, 2);
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    shard(range);  // throws where there is none
    return enqueue("reduce_scatter", memory, range, 1);
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    shard(range);  // throws where there is none
    return enqueue("all_gather", memory, range, 1);
  }
  void do_progress() override { log_.push_back({"progress", 0, {}}); }

  ParameterRange shard(const ParameterRange& range) const {
    return shard_of(range, rank_, exchange_.ranks());
  }

  CommunicationTicket enqueue(const std::string& kind, const FlatMemory& memory,
                              const ParameterRange& range, int transfers) {
    if (memory.type != DataType::float64 || !memory.has(range)) {
      throw std::logic_error("memory that the double cannot reach");
    }
    auto* const values = static_cast<double*>(memory.data);
    refuse_overlap(values, range);
    double* const begin = values + range.offset;
    exchange_.submit(next_, rank_, {kind, range, {begin, begin + range.count}});
    poison(begin, range.count);
    flights_[next_] = {kind, values, range};
    log_.push_back({kind, next_, range});
    sent_bytes_ += transfers * static_cast<double>(memory.bytes_of(range).value) *
                   (exchange_.ranks() - 1) / exchange_.ranks();
    return {next_++};
  }

  void refuse_overlap(const double* values, const ParameterRange& range) const {
    for (const auto& [number, flight] : flights_) {
      if (flight.values == values && range.offset < flight.range.end() &&
          flight.range.offset < range.end()) {
        throw std::logic_error("two operations on the same memory");
      }
    }
  }

  void do_wait(CommunicationTicket ticket) override {
    const auto found = flights_.find(ticket.number);
    if (found == flights_.end()) throw std::logic_error("no such ticket, or waited for twice");
    const Flight flight = found->second;
    double* const begin = flight.values + flight.range.offset;
    if (!std::all_of(begin, begin + flight.range.count, is_poison)) {
      throw std::logic_error("memory was written while " + flight.kind + " was under way");
    }
    flights_.erase(found);
    deliver(flight, exchange_.collect(ticket.number));
    log_.push_back({"wait", ticket.number, flight.range});
  }

  void deliver(const Flight& flight, const std::vector<Call>& calls) {
    const bool is_gather = flight.kind == "all_gather";
    const ParameterRange target =
        flight.kind == "reduce_scatter" ? shard(flight.range) : flight.range;
    for (std::int64_t i = target.offset; i < target.end(); ++i) {
      const auto place = static_cast<std::size_t>(i - flight.range.offset);
      double value = 0.0;
      if (is_gather) {
        value = calls[place / (static_cast<std::size_t>(flight.range.count) / calls.size())]
                    .input[place];
      } else {
        for (const Call& call : calls) value += call.input[place];
      }
      flight.values[i] = value;
    }
    double& first = flight.values[target.offset];
    if (spoils_sums_ && !is_gather) first = std::nextafter(first, 1.0);
  }

  ThreadExchange& exchange_;
  int rank_;
  EventLog& log_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Flight> flights_;
  double sent_bytes_ = 0.0;
  bool spoils_sums_ = false;
};

}  // namespace linkgain::test
