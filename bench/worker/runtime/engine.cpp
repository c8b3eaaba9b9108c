#include "linkgain/runtime/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/stopwatch.hpp"
#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/runtime/mpi_library.hpp"
#include "linkgain/telemetry/host.hpp"

extern char** environ;

namespace linkgain {
namespace {

std::optional<int> handle_of(const protocol::Command& command) {
  if (const auto* run = std::get_if<protocol::Run>(&command)) return run->handle;
  if (const auto* verify = std::get_if<protocol::Verify>(&command)) return verify->handle;
  if (const auto* close = std::get_if<protocol::Close>(&command)) return close->handle;
  return std::nullopt;
}

protocol::ErrorReply usage_error(const std::string& text) {
  return {text, {}, static_cast<int>(ExitCode::usage)};
}

/// Returns text and advice on a line each, to be agreed on by Session::first_text().
std::string problem_of(const Session& session, const Error& error) {
  return fmt::format("rank {}: {}\n{}", session.rank(), error.what(), error.advice());
}

protocol::ErrorReply shared_problem(const std::string& problem) {
  const std::size_t line_end = problem.find('\n');
  return {problem.substr(0, line_end), problem.substr(line_end + 1),
          static_cast<int>(ExitCode::machine_cannot)};
}

/// Does this rank's part; every rank must call it. If any rank could not, the problem of the first
/// that could not is returned on every rank.
template <typename Work>
std::optional<protocol::ErrorReply> agree(Session& session, Work work) {
  std::optional<std::string> problem;
  try {
    work();
  } catch (const Error& error) {
    problem = problem_of(session, error);
  }
  const std::optional<std::string> first = session.first_text(problem);
  if (!first) return std::nullopt;
  return shared_problem(*first);
}

// The rates of pinned host copies that one rank measures. Local to the rank; all throw what
// HostCopy throws.

/// That the ranks of a host may take together when each copies alone, both ways.
constexpr Seconds kAloneOnAHost{0.18};

/// Long enough to outweigh the first copy's start.
constexpr int kCopies = 4;

/// Returns the timed copies that end within `time` after one that is not timed.
int copies_within(Seconds time, Bytes size, double gb_per_s) {
  const double fit = time.value * gb_per_s * 1e9 / static_cast<double>(size.value) - 1.0;
  return static_cast<int>(std::clamp(std::floor(fit), 1.0, static_cast<double>(kCopies)));
}

/// Measures while all ranks copy: one way, then the other; the caller has all ranks pass a barrier
/// before each.
void copy_to_at_once(HostCopy& copy, HostCopyRates& rates) {
  rates.to_gpu_gb_per_s = copy.to_device(kCopies);
}

void copy_from_at_once(HostCopy& copy, HostCopyRates& rates) {
  rates.from_gpu_gb_per_s = copy.from_device(kCopies);
}

/// Measures alone, both ways, as one of `turns` of equal length. The rates at once, which are the
/// lower ones, tell how many copies that leaves time for: one at least, as many as at once at most.
CopyRates copy_alone(HostCopy& copy, const CopyRates& at_once, int turns) {
  const Seconds one_way{kAloneOnAHost.value / turns / 2.0};
  const auto copies = [&](double rate) { return copies_within(one_way, copy.size(), rate); };
  const double to_gpu = copy.to_device(copies(at_once.to_gpu_gb_per_s));
  return {to_gpu, copy.from_device(copies(at_once.from_gpu_gb_per_s))};
}

// What ranks tell rank 0. Every rank must call it; the results mean something on rank 0 only.

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::optional<T> present(double value) {
  if (std::isnan(value)) return std::nullopt;
  return static_cast<T>(value);
}

std::optional<Seconds> present_time(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(Seconds{value});
}

/// Returns infinity for a loss that is no number, which must not look like one that is absent.
double present_or_infinite(const std::optional<double>& loss) {
  if (!loss) return kAbsent;
  return std::isnan(*loss) ? std::numeric_limits<double>::infinity() : *loss;
}

std::vector<RankInfo> gather_ranks(Session& session, const RankInfo& own) {
  // The protocol's own encoding carries a rank's description: a hello with one rank in it.
  protocol::HelloReply carrier;
  carrier.machine.ranks = {own};
  std::vector<RankInfo> ranks;
  for (const std::string& text : session.gather(protocol::encode(protocol::Reply{carrier}))) {
    const protocol::Reply reply = protocol::decode_reply(text);
    ranks.push_back(std::get<protocol::HelloReply>(reply).machine.ranks.front());
  }
  return ranks;
}

/// Gathers a batch's results, of which `own` has this rank's: the loss is the mean over the ranks
/// that have one, what reading health took that of the slowest.
protocol::RunReply gather_run(Session& session, const protocol::RunReply& own) {
  constexpr std::size_t kFields = 7;
  const Health& health = own.health.front();
  const std::optional<Seconds>& time = own.times.front();
  const std::vector<double> all = session.gather(std::vector<double>{
      time ? time->value : kAbsent, present_or_infinite(own.loss),
      health.temperature_c ? static_cast<double>(*health.temperature_c) : kAbsent,
      health.power_w.value_or(kAbsent),
      health.sm_clock_mhz ? static_cast<double>(*health.sm_clock_mhz) : kAbsent,
      health.clock_event_reasons ? static_cast<double>(*health.clock_event_reasons) : kAbsent,
      own.health_time.value});
  protocol::RunReply reply;
  std::vector<double> losses;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.times.push_back(present_time(all[i]));
    if (!std::isnan(all[i + 1])) losses.push_back(all[i + 1]);
    reply.health.push_back({present<int>(all[i + 2]), present<double>(all[i + 3]),
                            present<int>(all[i + 4]), present<std::uint64_t>(all[i + 5])});
    reply.health_time = std::max(reply.health_time, Seconds{all[i + 6]});
  }
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  if (!losses.empty()) reply.loss = sum / static_cast<double>(losses.size());
  return reply;
}

protocol::CountersReply gather_counters(Session& session, const LinkCounters& own,
                                        const AbsentCounters& why) {
  constexpr std::size_t kFields = 4;
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? static_cast<double>(*value) : kAbsent;
  };
  // Exact: a double holds integers up to 2^53, 9 PB.
  const std::vector<double> all =
      session.gather(std::vector<double>{number(own.nvlink_sent), number(own.nvlink_received),
                                         number(own.pcie_sent), number(own.pcie_received)});
  protocol::CountersReply reply;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.ranks.push_back({present<std::int64_t>(all[i]), present<std::int64_t>(all[i + 1]),
                           present<std::int64_t>(all[i + 2]), present<std::int64_t>(all[i + 3])});
  }
  const auto first_reason = [&](bool has, const std::string& reason) {
    std::optional<std::string> text;
    if (!has) text = fmt::format("rank {}: {}", session.rank(), reason);
    return session.first_text(text).value_or("");
  };
  reply.reason = first_reason(own.nvlink_sent.has_value(), why.nvlink);
  reply.pcie_reason = first_reason(own.pcie_sent && own.pcie_received, why.pcie);
  return reply;
}

protocol::HostCopyReply gather_host_copy(Session& session,
                                         const std::optional<HostCopyRates>& own) {
  constexpr std::size_t kFields = 4;
  const bool alone = own && own->alone;
  const std::vector<double> all = session.gather(std::vector<double>{
      own ? own->to_gpu_gb_per_s : kAbsent, own ? own->from_gpu_gb_per_s : kAbsent,
      alone ? own->alone->to_gpu_gb_per_s : kAbsent,
      alone ? own->alone->from_gpu_gb_per_s : kAbsent});
  protocol::HostCopyReply reply;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.ranks.emplace_back();
    if (std::isnan(all[i])) continue;
    HostCopyRates& rates = reply.ranks.back().emplace(HostCopyRates{all[i], all[i + 1]});
    if (!std::isnan(all[i + 2])) rates.alone = CopyRates{all[i + 2], all[i + 3]};
  }
  return reply;
}

/// Gathers sums of elements, the largest error, and the first wrong element of the lowest rank that
/// has one.
Verification gather_verification(Session& session, const Verification& own) {
  const std::vector<double> all = session.gather(
      std::vector<double>{static_cast<double>(own.checked), static_cast<double>(own.wrong),
                          own.largest_error, own.bound});
  std::optional<std::string> wrong;
  if (own.wrong > 0) wrong = fmt::format("rank {}, {}", session.rank(), own.first_wrong);
  const std::optional<std::string> first = session.first_text(wrong);
  Verification total;
  for (std::size_t i = 0; i + 4 <= all.size(); i += 4) {
    total.checked += static_cast<std::int64_t>(all[i]);
    total.wrong += static_cast<std::int64_t>(all[i + 1]);
    total.largest_error = std::max(total.largest_error, all[i + 2]);
    total.bound = std::max(total.bound, all[i + 3]);
  }
  total.first_wrong = first.value_or("");
  return total;
}

/// Returns this rank's execution, with the form of the lowest rank that has one, on every rank: in
/// some operations a rank takes no part.
Execution shared_execution(Session& session, Execution own) {
  std::optional<std::string> form;
  if (!own.form.empty()) form = own.form;
  own.form = session.first_text(form).value_or("");
  return own;
}

Environment environment_in_force() {
  Environment result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (may_be_recorded(name)) result[std::string(name)] = text.substr(equals + 1);
  }
  return without_secrets(std::move(result));
}

}  // namespace

Engine::Engine(Watchdog& watchdog, Backend& backend, std::optional<Fault> fault,
               OperationMaker make)
    : watchdog_(watchdog),
      session_(watchdog.session()),
      backend_(backend),
      guard_(watchdog, backend),
      fault_(fault),
      make_(std::move(make)),
      monitor_(backend.gpu()),
      clock_keeper_(backend, monitor_),
      call_log_(backend.log_switch()),
      processors_(usable_processors()),
      gpus_time_(session_.since_start().lap()) {
  const std::optional<GpuInfo> gpu = backend.gpu();
  cpus_ = gpu ? bind_near_pci_device(gpu->pci_bus_id) : bind_to_cpu(session_.local_rank());
  const Watchdog::Command connecting(watchdog, "connecting the ranks");
  obey(fault_, session_.rank(), Fault::Place::connect);
  const InState state(session_.board(), RankState::in_operation);
  Stopwatch watch;
  backend.connect();
  connecting_time_ = watch.lap();
}

protocol::Reply Engine::execute(const protocol::Command& command) {
  if (const auto error = unknown_handle(command)) return *error;
  const Watchdog::Command current(watchdog_, description_of(command), expected_time(command));
  return carry_out(command);
}

std::optional<protocol::ErrorReply> Engine::unknown_handle(const protocol::Command& command) const {
  const std::optional<int> handle = handle_of(command);
  if (!handle || opened_.contains(*handle)) return std::nullopt;
  return usage_error(fmt::format("no open case has handle {}", *handle));
}

std::string Engine::description_of(const protocol::Command& command) const {
  if (const auto* open = std::get_if<protocol::Open>(&command)) {
    return "opening " + open->case_name;
  }
  if (const std::optional<int> handle = handle_of(command)) {
    const std::string name = case_name(opened_.at(*handle).definition);
    if (std::holds_alternative<protocol::Verify>(command)) return "verifying " + name;
    if (std::holds_alternative<protocol::Close>(command)) return "closing " + name;
    return fmt::format("batch {} of {}", batches_ + 1, name);
  }
  if (std::holds_alternative<protocol::Counters>(command)) return "reading link counters";
  if (std::holds_alternative<protocol::HostCopy>(command)) return "copies of the host";
  return std::holds_alternative<protocol::Hello>(command) ? "describing the machine" : "the end";
}

Seconds Engine::expected_time(const protocol::Command& command) const {
  // To allocate, fill and check, of memory of any kind.
  constexpr double kBytesPerSecond = 1e9;
  // Batches that it takes to find out how long operations take, about.
  constexpr double kCalibration = 4.0;
  if (const auto* open = std::get_if<protocol::Open>(&command)) {
    try {
      const Case opened = parse_case_name(open->case_name);
      return Seconds{kCalibration * open->sample_target.value +
                     static_cast<double>(opened.size.value) / kBytesPerSecond};
    } catch (const UsageError&) {
      return {};  // which opening it will say
    }
  }
  const std::optional<int> handle = handle_of(command);
  if (!handle) return {};
  const Opened& opened = opened_.at(*handle);
  if (const auto* run = std::get_if<protocol::Run>(&command)) {
    return Seconds{opened.per_operation.value * static_cast<double>(run->operations)};
  }
  return Seconds{opened.per_operation.value * protocol::kVerifiedOperations +
                 static_cast<double>(opened.definition.size.value) / kBytesPerSecond};
}

protocol::Reply Engine::carry_out(const protocol::Command& command) {
  if (std::holds_alternative<protocol::Hello>(command)) return hello();
  if (const auto* open_command = std::get_if<protocol::Open>(&command)) return open(*open_command);
  if (const auto* run_command = std::get_if<protocol::Run>(&command)) return run(*run_command);
  if (const auto* verify_command = std::get_if<protocol::Verify>(&command)) {
    return verify(*verify_command);
  }
  if (std::holds_alternative<protocol::Counters>(command)) return counters();
  if (std::holds_alternative<protocol::HostCopy>(command)) return host_copy();
  if (const auto* close_command = std::get_if<protocol::Close>(&command)) {
    return close(*close_command);
  }
  for (const auto& [handle, opened] : opened_) opened.operation->release();
  opened_.clear();
  return protocol::DoneReply{};
}

protocol::Reply Engine::lead(const protocol::Command& command) {
  const std::string line = protocol::encode(command);
  if (line.size() > Session::kLongestCommand) {
    return usage_error(fmt::format("a command is longer than {} bytes", Session::kLongestCommand));
  }
  if (const auto error = unknown_handle(command)) return *error;
  // Its time includes that in which the other ranks take the command, which one may not do.
  const Watchdog::Command current(watchdog_, description_of(command), expected_time(command));
  session_.broadcast_command(line);
  return carry_out(command);
}

void Engine::follow() {
  for (;;) {
    const protocol::Command command = protocol::decode_command(session_.broadcast_command({}));
    execute(command);
    if (std::holds_alternative<protocol::Shutdown>(command)) return;
  }
}

protocol::Reply Engine::hello() {
  RankInfo own;
  own.rank = session_.rank();
  own.host = host_name();
  own.pid = static_cast<int>(::getpid());
  own.cpus = cpus_;
  own.gpu = backend_.gpu();
  if (own.gpu) monitor_.complete(*own.gpu);
  const std::vector<RankInfo> ranks = gather_ranks(session_, own);
  if (!session_.is_root()) return protocol::DoneReply{};
  protocol::HelloReply reply;
  reply.backend = backend_.kind();
  reply.capabilities = protocol::capabilities_of(backend_.kind());
  reply.machine = describe_host();
  reply.machine.processors = processors_;
  reply.machine.software.linkgain = build_info().version;
  reply.machine.software.build = build_info().text;
  reply.machine.software.mpi = mpi_version();
  reply.machine.software.driver = monitor_.driver_version();
  backend_.describe(reply.machine.software);
  reply.machine.ranks = ranks;
  reply.machine.links = monitor_.links(ranks);
  reply.environment = environment_in_force();
  reply.path = backend_.path();
  reply.ranks_time = session_.start_time();
  reply.gpus_time = gpus_time_;
  reply.connecting_time = connecting_time_;
  return reply;
}

std::variant<Engine::Opened, protocol::ErrorReply> Engine::make_operation(
    const protocol::Open& command) {
  Opened opened;
  const auto make = [&] {
    opened.definition = parse_case_name(command.case_name);
    if (opened.definition.ranks != session_.ranks()) {
      throw UsageError(fmt::format("{} is for {} ranks, this job has {}", command.case_name,
                                   opened.definition.ranks, session_.ranks()));
    }
    opened.operation = make_ ? make_(backend_, opened.definition, command.products)
                             : backend_.open(opened.definition);
  };
  if (const auto refusal = agree(session_, make)) return *refusal;
  const InState state(session_.board(), RankState::in_operation);
  if (const auto refusal = agree(session_, [&] { opened.operation->prepare(); })) {
    opened.operation->release();
    return *refusal;
  }
  return opened;
}

protocol::Reply Engine::open(const protocol::Open& command) {
  obey(fault_, session_.rank(), Fault::Place::open);
  protocol::OpenReply reply;
  Stopwatch watch;
  auto made = make_operation(command);
  if (const auto* refusal = std::get_if<protocol::ErrorReply>(&made)) return *refusal;
  Opened& opened = std::get<Opened>(made);
  const InState state(session_.board(), RankState::in_operation);
  reply.buffers_time = watch.lap();
  clock_keeper_.prepare(command.rested);
  reply.clocks_time = watch.lap();
  warm_up(opened, command.ask_plan, reply);
  reply.first_operations_time = watch.lap();
  const SampleSize sample = size_of_sample(session_, *opened.operation, command);
  reply.calibrating_time = watch.lap();
  reply.handle = next_handle_++;
  reply.execution = shared_execution(session_, opened.operation->execution());
  reply.execution.operations_per_sample = sample.operations;
  reply.per_operation = opened.per_operation = sample.per_operation;
  opened_.emplace(reply.handle, std::move(opened));
  return reply;
}

/// Warms up by the first operations, as rank 0 asks: all ranks of a collective take the same way.
void Engine::warm_up(Opened& opened, bool ask_plan, protocol::OpenReply& reply) {
  obey(fault_, session_.rank(), Fault::Place::warm_up);
  const auto work = [&] { opened.operation->warm_up(); };
  if (ask_plan) reply.plan = opened.operation->plan();
  if (!ask_plan || reply.plan || !session_.is_root()) return work();
  const std::optional<LoggedCalls> logged = call_log_.watch(work);
  if (!logged) return;
  reply.plan = plan_of(opened.definition, parse_tuning_lines(logged->text));
  reply.plan_cost = logged->cost;
}

protocol::Reply Engine::run(const protocol::Run& command) {
  Opened& target = opened_.at(command.handle);
  const std::int64_t granularity = target.operation->granularity();
  const std::optional<std::int64_t> fixed = target.operation->fixed_batch();
  if (fixed && command.operations != *fixed) {
    return usage_error(
        fmt::format("a batch of {} where {} are always together", command.operations, *fixed));
  }
  if (command.operations < 1 || command.operations % granularity != 0) {
    return usage_error(fmt::format("a batch of {} is no multiple of {} operations",
                                   command.operations, granularity));
  }
  ++batches_;
  obey(fault_, session_.rank(), Fault::Place::batch, batches_);
  clock_keeper_.prepare(command.rested);
  session_.barrier();
  obey(fault_, session_.rank(), Fault::Place::operation, batches_);
  const std::optional<Seconds> time = [&] {
    const InState state(session_.board(), RankState::in_operation);
    return target.operation->time_batch(command.operations);
  }();
  protocol::RunReply own{.times = {time}, .health = {}};
  if (time) own.times = {Seconds{time->value / static_cast<double>(command.operations)}};
  Stopwatch reading;
  own.health = {monitor_.health()};
  own.health_time = reading.lap();
  own.loss = target.operation->loss();
  return gather_run(session_, own);
}

protocol::Reply Engine::verify(const protocol::Verify& command) {
  session_.barrier();
  obey(fault_, session_.rank(), Fault::Place::verify);
  const InState state(session_.board(), RankState::in_operation);
  const Verification own =
      opened_.at(command.handle).operation->verify(spoil_of(fault_, session_.rank()));
  return protocol::VerifyReply{gather_verification(session_, own)};
}

protocol::Reply Engine::counters() {
  AbsentCounters why;
  const LinkCounters own = monitor_.link_counters(why);
  return gather_counters(session_, own, why);
}

/// Ranks agree after each step, which also keeps the next one waiting until the last is done.
protocol::Reply Engine::host_copy() {
  std::unique_ptr<HostCopy> copy;
  const auto open = [&] { copy = backend_.open_host_copy(); };
  if (const auto refusal = agree(session_, open)) return *refusal;
  std::optional<HostCopyRates> rates;
  if (copy) rates.emplace();
  for (const auto at_once : {copy_to_at_once, copy_from_at_once}) {
    const auto measure = [&] {
      if (copy) at_once(*copy, *rates);
    };
    session_.barrier();
    if (const auto refusal = agree(session_, measure)) return *refusal;
  }
  const int turns = static_cast<int>(session_.max(session_.local_rank())) + 1;
  for (int turn = 0; turn < turns; ++turn) {
    const auto measure = [&] {
      const bool own = turn == session_.local_rank();
      if (copy && own) rates->alone = copy_alone(*copy, rates->at_once(), turns);
    };
    if (const auto refusal = agree(session_, measure)) return *refusal;
  }
  return gather_host_copy(session_, rates);
}

protocol::Reply Engine::close(const protocol::Close& command) {
  obey(fault_, session_.rank(), Fault::Place::close);
  const auto closed = opened_.extract(command.handle);
  const InState state(session_.board(), RankState::in_operation);
  closed.mapped().operation->release();
  session_.barrier();  // who does not come is missed now, not in the next case
  return protocol::DoneReply{};
}

}  // namespace linkgain
