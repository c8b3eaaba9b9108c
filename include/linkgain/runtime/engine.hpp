#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/operation.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/runtime/watchdog.hpp"
#include "linkgain/telemetry/nccl_log.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// What the driver tells of this rank's GPU, as far as there is one and NVML is there.
class DeviceMonitor {
 public:
  explicit DeviceMonitor(const std::optional<GpuInfo>& gpu);

  /// Reads health, which takes about 4 us.
  Health health() const;
  std::optional<int> sm_clock_mhz() const;
  /// Reads the links' counters, which takes about 1.2 ms: for between batches. Gives the reason of
  /// those that are absent.
  LinkCounters link_counters(AbsentCounters& why) const;

  /// Fills in the NVLink and PCIe members and the limits of clocks and power.
  void complete(GpuInfo& gpu) const;
  std::optional<std::string> driver_version() const;
  /// Returns one entry for each pair of ranks with GPUs, from < to; their state is absent where it
  /// is not known, as of every pair that is not on this host.
  std::vector<PairLink> links(const std::vector<RankInfo>& ranks) const;

 private:
  std::shared_ptr<Nvml> nvml_;
  std::string no_device_ = "no GPU";  ///< why there is no device_
  std::optional<Nvml::Device> device_;
};

/// Brings this rank's GPU to its working clock before it is timed: an idle one runs at a sixth of
/// it. Both arguments must outlive it.
class ClockKeeper {
 public:
  ClockKeeper(Backend& backend, const DeviceMonitor& monitor)
      : backend_(backend), monitor_(monitor) {}

  /// Warms the GPU up; local to the rank. Returns within microseconds where the GPU worked lately
  /// and its clock is up. `rested`: since other processes last worked there, where that is known.
  void prepare(const std::optional<Seconds>& rested);

 private:
  using Clock = std::chrono::steady_clock;
  Backend& backend_;
  const DeviceMonitor& monitor_;
  int highest_mhz_ = 0;
  std::optional<Clock::time_point> last_work_;
};

/// How many operations make a batch, which is a sample, and how long one of them takes.
struct SampleSize {
  std::int64_t operations;
  Seconds per_operation;
};

/// Finds how many operations a batch needs to last as long as the command asks for. Every rank must
/// call it; the result is the same on all.
SampleSize size_of_sample(Session& session, Operation& operation, const protocol::Open& command);

/// Makes the operation of a case: a backend's own, or what is built on it. Local to the rank;
/// throws what Backend::open() throws. `products` as in Execution, or none.
using OperationMaker = std::function<std::unique_ptr<Operation>(
    Backend& backend, const Case& c, const std::vector<std::string>& products)>;

/// Carries out the protocol's commands on every rank of a job. Rank 0 gets a command and hands it
/// to all; execute() is collective and must see the same commands in the same order everywhere.
/// Only rank 0's reply means anything.
class Engine {
 public:
  /// Binds this rank to CPUs near its GPU, or to one of its own if it has none, and connects the
  /// backend; every rank must call it. The watchdog, which sees to it that no command takes for
  /// ever, and the backend must outlive the engine. Without `make` there are only the backend's own
  /// operations.
  Engine(Watchdog& watchdog, Backend& backend, std::optional<Fault> fault,
         OperationMaker make = {});

  /// Executes a command. Errors that all ranks can agree on come back as ErrorReply and leave the
  /// job usable; anything thrown means that the ranks may have parted and the job must be aborted.
  protocol::Reply execute(const protocol::Command& command);

  /// Counts the timed batches so far.
  std::int64_t batches() const { return batches_; }

  /// Leads on rank 0: hands a command to the other ranks and takes part itself.
  protocol::Reply lead(const protocol::Command& command);
  /// Follows on the other ranks: they take part in what rank 0 leads until it sends shutdown.
  void follow();

 private:
  struct Opened {
    Case definition;
    std::unique_ptr<Operation> operation;
    Seconds per_operation{};  ///< as calibrated
  };

  std::optional<protocol::ErrorReply> unknown_handle(const protocol::Command& command) const;
  protocol::Reply carry_out(const protocol::Command& command);
  /// Tells the watchdog what the command is, and how long it should take.
  std::string description_of(const protocol::Command& command) const;
  Seconds expected_time(const protocol::Command& command) const;

  protocol::Reply hello();
  protocol::Reply open(const protocol::Open& command);
  protocol::Reply run(const protocol::Run& command);
  protocol::Reply verify(const protocol::Verify& command);
  protocol::Reply counters();
  protocol::Reply host_copy();
  protocol::Reply close(const protocol::Close& command);

  /// Opens the backend's operation for a case, prepared. Where any rank cannot make it all return
  /// the reason of the first that cannot.
  std::variant<Opened, protocol::ErrorReply> make_operation(const protocol::Open& command);
  /// Launches the first operation, and says what the library chose for it if that is asked for.
  void warm_up(Opened& opened, bool ask_plan, protocol::OpenReply& reply);

  Watchdog& watchdog_;
  Session& session_;
  Backend& backend_;
  Watchdog::Guard guard_;
  std::optional<Fault> fault_;
  OperationMaker make_;
  DeviceMonitor monitor_;
  ClockKeeper clock_keeper_;
  CallLog call_log_;
  int processors_;     ///< usable before this rank was bound
  Seconds gpus_time_;  ///< from MPI's start until this rank had its GPU
  Seconds connecting_time_{};
  std::string cpus_;
  std::map<int, Opened> opened_;
  int next_handle_ = 1;
  std::int64_t batches_ = 0;
};

/// The worker's own channel to the coordinator. Taken before anything else runs: from then on file
/// descriptor 1 is standard error, so that no library's print gets into the protocol.
class ProtocolChannel {
 public:
  /// Moves descriptor 1 away and points it at descriptor 2.
  ProtocolChannel();
  ~ProtocolChannel();
  ProtocolChannel(const ProtocolChannel&) = delete;
  ProtocolChannel& operator=(const ProtocolChannel&) = delete;

  /// Reads the next line from standard input, without the newline; nothing at its end. Sleeps
  /// meanwhile.
  std::optional<std::string> read_line();
  void write_line(const std::string& line);

 private:
  int output_ = -1;
  std::string pending_;
};

/// Answers the coordinator until shutdown or end of input. Collective: rank 0 reads and leads, the
/// others follow. `fault` is for tests: what becomes of rank 0 at its replies.
void serve(Session& session, Engine& engine, ProtocolChannel& channel,
           const std::optional<Fault>& fault = {});

}  // namespace linkgain
