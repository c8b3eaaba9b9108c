#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/jobs/job.hpp"
#include "linkgain/process/signals.hpp"

namespace linkgain::test {

/// What the jobs of a test share: the time, which passes only while one of them works, and what
/// the links of each rank's GPU have carried.
class FakeClock {
 public:
  Seconds now() const { return now_; }
  void advance(Seconds time) { now_.value += time.value; }

  /// Adds the bytes of one operation on every rank, `operations` times.
  void carry(const std::vector<LinkCounters>& one, std::int64_t operations) {
    for (std::size_t rank = 0; rank < one.size(); ++rank) {
      for (std::size_t i = 0; i < kMembers.size(); ++i) {
        totals_[rank][i] += (one[rank].*kMembers[i]).value_or(0) * operations;
      }
    }
  }
  /// Returns the counters of a job that sees what `seen` has.
  std::vector<LinkCounters> counters(const std::vector<LinkCounters>& seen) {
    std::vector<LinkCounters> ranks = seen;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (std::size_t i = 0; i < kMembers.size(); ++i) {
        auto& counter = ranks[rank].*kMembers[i];
        if (counter) counter = kCountedBefore + totals_[rank][i];
      }
    }
    return ranks;
  }

 private:
  static constexpr std::array kMembers{&LinkCounters::nvlink_sent, &LinkCounters::nvlink_received,
                                       &LinkCounters::pcie_sent, &LinkCounters::pcie_received};
  /// Counters are cumulative and did not begin with these jobs.
  static constexpr std::int64_t kCountedBefore = 123'456'789;

  Seconds now_{};
  std::map<std::size_t, std::array<std::int64_t, kMembers.size()>> totals_;  ///< by rank
};

/// How a job goes wrong at a command.
struct FakeFailure {
  enum class Kind {
    lost,        ///< the processes are gone: JobLost at once
    hang,        ///< nothing is said until the deadline: JobLost then
    interrupt,   ///< a signal comes while waiting: Interrupted
    refuse,      ///< an error is answered, the job lives on: JobRefused
    wrong_data,  ///< verify finds wrong elements
  };
  std::string command;  ///< "hello", "open", "run", "verify", "counters", ..., "shutdown"
  Kind kind = Kind::lost;
  std::string case_name{};  ///< of the case it happens in; empty: of any
  int occurrence = 1;       ///< the how many-th such command of that case: 1 the first
};

/// Everything that decides what a FakeJob answers.
struct FakeScript {
  protocol::HelloReply hello{};
  std::optional<protocol::HelloReply> later_hello{};  ///< of every one but the first
  double seconds = 1e-4;                              ///< per operation on the slowest rank
  std::map<std::string, double> seconds_of_case{};    ///< for cases by name, instead of `seconds`
  std::map<std::string, std::vector<double>> first_seconds_of_case{};  ///< of its first runs
  double noise = 0.0;   ///< standard deviation of a time's logarithm
  unsigned seed = 1;    ///< of the noise
  double drift = 0.0;   ///< growth of a time's logarithm a second of the shared clock
  double skew = 0.0;    ///< share by which every rank but the first is faster
  Seconds open_time{};  ///< that opening a case takes
  /// What every rank's links carry in one operation; empty: no counters anywhere.
  std::vector<LinkCounters> carried{};
  std::vector<std::optional<HostCopyRates>> host_copy{};
  /// Each rank's GPU's; empty: 40 °C and a degree more from rank to rank, at 1980 MHz.
  std::vector<Health> health{};
  Seconds health_time{};                ///< that reading health takes after every batch
  Seconds counters_time{};              ///< that reading counters takes
  std::optional<TransferPlan> plan{};   ///< told of every case, where it is asked for
  std::vector<std::string> products{};  ///< chosen where none are told
  std::vector<FakeFailure> failures{};
};

inline FakeScript taking(double seconds) {
  FakeScript script;
  script.seconds = seconds;
  return script;
}

inline FakeScript failing(FakeFailure failure) {
  FakeScript script;
  script.failures = {std::move(failure)};
  return script;
}

/// What was asked of a job; outlives it.
struct FakeTrace {
  std::vector<std::string> commands;  ///< by name, in order
  std::map<std::string, int> runs;    ///< of every case
  std::map<std::string, int> opens;
  std::map<std::string, std::vector<std::optional<std::int64_t>>> operations;  ///< told of a case
  std::vector<std::optional<Seconds>> rests;             ///< that commands to open told of
  std::set<int> open_handles;                            ///< opened and not closed
  bool finished = false;                                 ///< was shut down and waited for the end
  bool gone = false;                                     ///< the Job was destroyed
  std::function<void(const std::string&)> on_command{};  ///< told of each
};

/// An exact double of a resident job: understands the protocol's lines as a worker does, takes the
/// times that its script says, lets the shared clock go on by them, and fails where it is told to.
/// Clock and trace must outlive it. Throws std::logic_error where the coordinator breaks the
/// protocol's rules: a handle that is not open, a batch that is no batch, commands after shutdown.
class FakeJob : public Job {
 public:
  FakeJob(FakeScript script, FakeClock& clock, FakeTrace& trace)
      : script_(std::move(script)), clock_(clock), trace_(trace), random_(script_.seed) {}
  ~FakeJob() override { trace_.gone = true; }

 private:
  struct Opened {
    Case definition;
    std::string name;
    double seconds = 0.0;
  };

  std::string do_exchange(const std::string& line, Seconds deadline) override {
    const protocol::Command command = protocol::decode_command(line);
    if (over_) throw std::logic_error("a job was spoken to after its end");
    trace_.commands.emplace_back(protocol::name_of(command));
    if (trace_.on_command) trace_.on_command(trace_.commands.back());
    const std::optional<FakeFailure::Kind> failure = failure_at(command);
    if (failure && *failure != FakeFailure::Kind::wrong_data) {
      if (const auto refusal = fail(*failure, deadline)) return protocol::encode(*refusal);
    }
    return protocol::encode(std::visit(
        [&](const auto& one) { return answer(one, deadline, failure.has_value()); }, command));
  }

  void do_finish(Seconds) override { trace_.finished = true; }

  /// Throws what the failure means, or returns the refusal.
  std::optional<protocol::Reply> fail(FakeFailure::Kind kind, Seconds deadline) {
    if (kind == FakeFailure::Kind::refuse) {
      return protocol::ErrorReply{"the fake refuses", "ask another", 3};
    }
    over_ = true;
    if (kind == FakeFailure::Kind::interrupt) throw Interrupted(SIGINT);
    if (kind == FakeFailure::Kind::hang) clock_.advance(deadline);
    throw JobLost("the fake was lost", "start another");
  }

  /// Counts the command, and returns the failure that the script has for it.
  std::optional<FakeFailure::Kind> failure_at(const protocol::Command& command) {
    const std::string name{protocol::name_of(command)};
    const std::string in_case = case_of(command);
    std::optional<FakeFailure::Kind> found;
    for (const std::string& counted : std::set<std::string>{in_case, std::string()}) {
      const int occurrence = ++occurrences_[{name, counted}];
      for (const FakeFailure& failure : script_.failures) {
        if (failure.command == name && failure.case_name == counted &&
            failure.occurrence == occurrence) {
          found = failure.kind;
        }
      }
    }
    return found;
  }

  std::string case_of(const protocol::Command& command) {
    if (const auto* open = std::get_if<protocol::Open>(&command)) return open->case_name;
    if (const auto* run = std::get_if<protocol::Run>(&command)) return at(run->handle).name;
    if (const auto* verify = std::get_if<protocol::Verify>(&command)) {
      return at(verify->handle).name;
    }
    if (const auto* close = std::get_if<protocol::Close>(&command)) return at(close->handle).name;
    return {};
  }

  Opened& at(int handle) {
    const auto found = opened_.find(handle);
    if (found == opened_.end()) throw std::logic_error("no such handle is open");
    return found->second;
  }

  protocol::Reply answer(const protocol::Hello&, Seconds, bool) {
    const auto hellos = std::ranges::count(trace_.commands, "hello");
    return hellos > 1 && script_.later_hello ? *script_.later_hello : script_.hello;
  }

  protocol::Reply answer(const protocol::Open& open, Seconds, bool) {
    clock_.advance(script_.open_time);
    const auto known = script_.seconds_of_case.find(open.case_name);
    const double seconds = known == script_.seconds_of_case.end() ? script_.seconds : known->second;
    opened_[++last_handle_] = {parse_case_name(open.case_name), open.case_name, seconds};
    trace_.open_handles.insert(last_handle_);
    ++trace_.opens[open.case_name];
    trace_.rests.push_back(open.rested);
    protocol::OpenReply reply;
    reply.handle = last_handle_;
    reply.per_operation = Seconds{seconds};
    if (open.ask_plan && script_.plan) {
      reply.plan = script_.plan;
      reply.plan_cost = Seconds{0.125};
    }
    reply.execution.operations_per_sample = open.operations.value_or(
        std::max<std::int64_t>(1, std::llround(open.sample_target.value / seconds)));
    reply.execution.products = open.products.empty() ? script_.products : open.products;
    trace_.operations[open.case_name].push_back(open.operations);
    return reply;
  }

  protocol::Reply answer(const protocol::Run& run, Seconds deadline, bool) {
    if (run.operations < 1) throw std::logic_error("a batch of no operations");
    const Opened& opened = at(run.handle);
    const double seconds = next_seconds(opened);
    const Seconds batch{seconds * static_cast<double>(run.operations)};
    if (batch > deadline) fail(FakeFailure::Kind::hang, deadline);
    clock_.advance(batch);
    clock_.carry(script_.carried, run.operations);
    protocol::RunReply reply;
    for (int rank = 0; rank < opened.definition.ranks; ++rank) {
      const auto& pair = opened.definition.pair;
      const bool takes_part = !pair || rank == pair->from || rank == pair->to;
      const double own = reply.times.empty() ? seconds : seconds * (1.0 - script_.skew);
      reply.times.push_back(takes_part ? std::optional(Seconds{own}) : std::nullopt);
      reply.health.push_back({40 + rank, std::nullopt, 1980, std::nullopt});
    }
    if (!script_.health.empty()) reply.health = script_.health;
    clock_.advance(script_.health_time);
    reply.health_time = script_.health_time;
    return reply;
  }

  protocol::Reply answer(const protocol::Verify& verify, Seconds, bool wrong) {
    Verification found;
    found.checked = std::max<std::int64_t>(1, at(verify.handle).definition.elements());
    if (wrong) {
      found.wrong = 1;
      found.largest_error = 2.0;
      found.first_wrong = "rank 1, element 17: 3 instead of 5";
    }
    return protocol::VerifyReply{found};
  }

  protocol::Reply answer(const protocol::Counters&, Seconds, bool) {
    clock_.advance(script_.counters_time);
    return protocol::CountersReply{clock_.counters(script_.carried), {}};
  }

  protocol::Reply answer(const protocol::HostCopy&, Seconds, bool) {
    return protocol::HostCopyReply{script_.host_copy};
  }

  protocol::Reply answer(const protocol::Close& close, Seconds, bool) {
    opened_.erase(close.handle);
    trace_.open_handles.erase(close.handle);
    return protocol::DoneReply{};
  }

  protocol::Reply answer(const protocol::Shutdown&, Seconds, bool) {
    over_ = true;
    return protocol::DoneReply{};
  }

  double next_seconds(const Opened& opened) {
    const auto number = static_cast<std::size_t>(trace_.runs[opened.name]++);
    const auto first = script_.first_seconds_of_case.find(opened.name);
    if (first != script_.first_seconds_of_case.end() && number < first->second.size()) {
      return first->second[number];
    }
    return opened.seconds * std::exp(script_.noise * normal() + script_.drift * clock_.now().value);
  }

  /// Draws nearly normal numbers, the same everywhere: the standard's distributions are not.
  double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_()) / 4294967296.0;
    return sum;
  }

  FakeScript script_;
  FakeClock& clock_;
  FakeTrace& trace_;
  std::mt19937 random_;
  std::map<int, Opened> opened_;
  std::map<std::pair<std::string, std::string>, int> occurrences_;  ///< by command and case
  int last_handle_ = 0;
  bool over_ = false;
};

}  // namespace linkgain::test
