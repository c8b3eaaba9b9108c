#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"

/// The line protocol between the coordinator and rank 0 of a resident job: one JSON object a line
/// each way, a reply for every command, in order.
namespace linkgain::protocol {

inline constexpr int kVersion = 1;

/// How long a job may be silent beyond the time its work takes, unless another time is asked for.
inline constexpr Seconds kDefaultTimeout{60.0};

/// Returns the timeout of its ranks, which know who hangs and should say so before the job is
/// ended.
constexpr Seconds timeout_of_ranks(Seconds timeout_of_job) {
  return Seconds{0.9 * timeout_of_job.value};
}

/// Begins the name of the memory (memfd) that each rank has open from just before it joins the
/// others on: by it the coordinator tells, in /proc, who has come so far where no job answers yet.
inline constexpr std::string_view kRankMemory = "linkgain-rank-";

/// The variable that linkgain-bench gives a rank that it starts its place in: "1/2 5 7" is rank 1
/// of two, with memory 5 and socket 7 open.
inline constexpr const char* kRankVariable = "LINKGAIN_RANK";

/// At least the operations of a burst that is verified, unless a graph holds more: by them ranks
/// and coordinator tell how long they wait for it.
inline constexpr int kVerifiedOperations = 64;

/// At most the operations of a batch.
inline constexpr std::int64_t kMostOperations = 1'000'000;

struct Hello {};
/// Opens a case by name: buffers, warm-up and calibration to `sample_target`.
struct Open {
  std::string case_name;
  Seconds sample_target = kDefaultSampleTarget;
  bool ask_plan = false;  ///< have the backend's library tell what it chose for the warm-up
  /// Since any job last worked on these GPUs; absent where nobody knows of others.
  std::optional<Seconds> rested{};
  /// In a sample, as another job of the variant found: taken over where they still suit the target.
  std::optional<std::int64_t> operations{};
  std::vector<std::string> products{};  ///< as another job's Execution has them, or none
};
/// One timed batch of `operations`.
struct Run {
  int handle = 0;
  std::int64_t operations = 1;
  std::optional<Seconds> rested{};  ///< as in Open
};
struct Verify {
  int handle = 0;
};
/// The cumulative counters of every rank's links, between two batches.
struct Counters {};
/// Copies between pinned host memory and GPU on all ranks at once.
struct HostCopy {};
struct Close {
  int handle = 0;
};
struct Shutdown {};
using Command = std::variant<Hello, Open, Run, Verify, Counters, HostCopy, Close, Shutdown>;

/// Returns the name as it stands on the line: "hello", "open", …
std::string_view name_of(const Command& command);

/// What a worker's backend can be asked for, by name.
struct Capabilities {
  std::vector<std::string> operations;
  std::vector<std::string> types;
  std::vector<std::string> reductions;
  std::vector<std::string> launch_modes;
  std::vector<std::string> buffers;
};
Capabilities capabilities_of(BackendKind backend);

struct HelloReply {
  int version = kVersion;
  BackendKind backend = BackendKind::nccl;
  Capabilities capabilities;
  Machine machine;
  Environment environment;  ///< in force in rank 0 after the backend started, by allow-list
  /// Set where the backend itself knows the path its messages take (mpi); else found from NCCL's
  /// log.
  std::optional<Path> path;
  // What rank 0's start took.
  Seconds ranks_time{};       ///< MPI's start
  Seconds gpus_time{};        ///< from there until it had its GPU
  Seconds connecting_time{};  ///< the backend's connections
};
struct OpenReply {
  int handle = 0;
  Execution execution;
  Seconds per_operation{};  ///< calibration's estimate, for deadlines and time left
  /// Absent where it was not asked for, or where the library cannot be asked within a process.
  std::optional<TransferPlan> plan;
  Seconds plan_cost{};  ///< that asking took, the warm-up itself left out
  // What opening took, one after the other, on rank 0.
  Seconds buffers_time{};
  Seconds clocks_time{};
  Seconds first_operations_time{};
  Seconds calibrating_time{};
};
struct RunReply {
  std::vector<std::optional<Seconds>> times;  ///< per operation, per rank
  std::vector<Health> health;
  std::optional<double> loss{};  ///< of a training's last step: the mean over ranks
  Seconds health_time{};         ///< what reading `health` took on the slowest rank
};
struct VerifyReply {
  Verification verification;
};
struct CountersReply {
  std::vector<LinkCounters> ranks;
  std::string reason;  ///< why the first rank without NVLink counters has none; empty: all have
  std::string pcie_reason{};  ///< the same of PCIe
};
struct HostCopyReply {
  std::vector<std::optional<HostCopyRates>> ranks;  ///< absent where a rank has no GPU
};
struct DoneReply {};  ///< to close and shutdown
/// The command was understood but could not be carried out; the job lives on.
struct ErrorReply {
  std::string text;
  std::string advice;
  int exit_code = 1;
};
using Reply = std::variant<HelloReply, OpenReply, RunReply, VerifyReply, CountersReply,
                           HostCopyReply, DoneReply, ErrorReply>;

/// Writes one line without the newline.
std::string encode(const Command& command);
std::string encode(const Reply& reply);

/// Throws UsageError if the line is no such message.
Command decode_command(std::string_view line);
Reply decode_reply(std::string_view line);

/// Throws UsageError where no job can have measured what the reply says: a time that is negative,
/// or longer than anybody waits, more wrong elements than were checked, a batch without end, or
/// numbers of other ranks than these, which the job has where that is known.
void require_possible(const Reply& reply, std::optional<int> ranks);

/// What every encoded reply begins with, and hardly a line of anybody else.
inline constexpr std::string_view kReplyBegin = "{\"reply\":";

}  // namespace linkgain::protocol
