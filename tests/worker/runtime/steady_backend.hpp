#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"
#include "support/call_log_double.hpp"

namespace linkgain::test {

/// Takes a millisecond for each operation, except where told otherwise.
class SteadyOperation : public Operation {
 public:
  SteadyOperation(bool takes_part, std::int64_t granularity, int& held_up)
      : takes_part_(takes_part), granularity_(granularity), held_up_(held_up) {}

  bool prepares = true;  ///< else its part of what all ranks prepare fails
  bool sleeps = false;   ///< for as long as it says that it took

 private:
  void do_prepare() override {
    if (!prepares) throw MachineError("no window", "open one");
  }
  void do_warm_up() override {
    CallLogDouble::call("x NCCL INFO AllReduce: 64 Bytes -> Algo RING proto LL channel");
  }
  std::optional<Seconds> do_time_batch(std::int64_t operations) override {
    if (!takes_part_) return std::nullopt;
    const Seconds time{(held_up_-- > 0 ? 1.0 : 0.001) * static_cast<double>(operations)};
    if (sleeps) std::this_thread::sleep_for(std::chrono::duration<double>(time.value));
    return time;
  }
  void do_run(std::int64_t) override {}
  Verification do_verify(Spoil spoil) override {
    Verification own;
    own.checked = 10;
    own.wrong = spoil == Spoil::bit ? 2 : 0;
    if (own.wrong > 0) own.first_wrong = "element 4: 1 instead of 2";
    return own;
  }
  std::int64_t do_granularity() const override { return granularity_; }
  Execution do_execution() const override { return {}; }

  bool takes_part_;
  std::int64_t granularity_;
  int& held_up_;
};

/// What copies do, and what was asked of them.
struct CopyScript {
  double slowness = 1.0;                ///< divides all rates
  int fails_at = 0;                     ///< the call that fails, from 1; 0: none does
  std::vector<int> calls;               ///< number of copies each
  std::vector<double> starts_and_ends;  ///< of all calls, by the host's clock
};

/// At its first two calls, at once with the others, slower than later.
class SteadyCopy : public HostCopy {
 public:
  explicit SteadyCopy(CopyScript& script) : script_(script) {}

 private:
  Bytes do_size() const override { return Bytes{50'000'000}; }
  double do_to_device(int copies) override { return rate(50.0, copies); }
  double do_from_device(int copies) override { return rate(40.0, copies); }

  /// Reads a clock that all processes of the host share.
  static double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
  }

  double rate(double alone, int copies) {
    script_.calls.push_back(copies);
    const auto call = static_cast<int>(script_.calls.size());
    if (call == script_.fails_at) throw MachineError("the copy failed", "look at the bus");
    script_.starts_and_ends.push_back(now());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    script_.starts_and_ends.push_back(now());
    return (call <= 2 ? alone - 10.0 : alone) / script_.slowness;
  }

  CopyScript& script_;
};

/// Opens SteadyOperations; sizes of 4 MiB on no rank and of 8 MiB not on the last one, which does
/// not prepare those of 16 MiB either.
class SteadyBackend : public Backend {
 public:
  explicit SteadyBackend(const Session& session) : session_(session) {}
  std::int64_t granularity = 1;
  int held_up = 0;  ///< batches that take a second per operation
  bool sleeps = false;
  CopyScript copies{};
  std::vector<Seconds> busy{};  ///< how long it was kept so, each time

 private:
  BackendKind do_kind() const override { return BackendKind::mpi; }
  std::optional<GpuInfo> do_gpu() const override { return std::nullopt; }
  void do_connect() override {}
  std::unique_ptr<Operation> do_open(const Case& c, const std::optional<Rotation>&) override {
    const bool is_last = session_.rank() == session_.ranks() - 1;
    if (c.size.value == 4 << 20 || (is_last && c.size.value == 8 << 20)) {
      throw MachineError("no memory", "buy some");
    }
    const bool takes_part = !c.pair || session_.rank() == c.pair->from;
    auto operation = std::make_unique<SteadyOperation>(takes_part, granularity, held_up);
    operation->sleeps = sleeps;
    operation->prepares = !is_last || c.size.value != 16 << 20;
    return operation;
  }
  std::unique_ptr<TrainingCommunication> do_open_training_communication(void*) override {
    throw MachineError("no training", "train elsewhere");
  }
  /// Gives none to the first rank, which has nothing to copy to.
  std::unique_ptr<HostCopy> do_open_host_copy() override {
    return session_.is_root() ? nullptr : std::make_unique<SteadyCopy>(copies);
  }
  void do_keep_busy(Seconds time) override { busy.push_back(time); }
  void do_describe(Software& software) const override { software.nccl_library = "steady"; }
  LogSwitch do_log_switch() const override { return &CallLogDouble::switch_lazily; }
  std::optional<Path> do_path() const override { return Path::host_memory; }

  const Session& session_;
};

}  // namespace linkgain::test
