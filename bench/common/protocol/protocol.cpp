#include "linkgain/protocol/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/record_members.hpp"

namespace linkgain::protocol {
namespace {

using json::In;
using json::Out;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

Out write_command(const Command& command) {
  Out out{{"command", name_of(command)}};
  std::visit(Overloaded{[](const Hello&) {}, [](const Counters&) {}, [](const HostCopy&) {},
                        [](const Shutdown&) {},
                        [&](const Open& open) {
                          out["case"] = open.case_name;
                          out["sample_target_s"] = open.sample_target.value;
                          out["ask_plan"] = open.ask_plan;
                          if (open.rested) out["rested_s"] = open.rested->value;
                          if (open.operations) out["operations"] = *open.operations;
                          if (!open.products.empty()) out["products"] = open.products;
                        },
                        [&](const Run& run) {
                          out["handle"] = run.handle;
                          out["operations"] = run.operations;
                          if (run.rested) out["rested_s"] = run.rested->value;
                        },
                        [&](const Verify& verify) { out["handle"] = verify.handle; },
                        [&](const Close& close) { out["handle"] = close.handle; }},
             command);
  return out;
}

Out write_capabilities(const Capabilities& capabilities) {
  return {{"operations", capabilities.operations},
          {"types", capabilities.types},
          {"reductions", capabilities.reductions},
          {"launch_modes", capabilities.launch_modes},
          {"buffers", capabilities.buffers}};
}

Capabilities read_capabilities(const In& in) {
  using Names = std::vector<std::string>;
  return {in.at("operations").get<Names>(), in.at("types").get<Names>(),
          in.at("reductions").get<Names>(), in.at("launch_modes").get<Names>(),
          in.at("buffers").get<Names>()};
}

Out write_reply(const HelloReply& reply) {
  return {{"reply", "hello"},
          {"version", reply.version},
          {"backend", linkgain::name_of(reply.backend)},
          {"capabilities", write_capabilities(reply.capabilities)},
          {"machine", json::write(reply.machine)},
          {"environment", reply.environment},
          {"path", reply.path ? Out(linkgain::name_of(*reply.path)) : Out(nullptr)},
          {"ranks_s", reply.ranks_time.value},
          {"gpus_s", reply.gpus_time.value},
          {"connecting_s", reply.connecting_time.value}};
}

Out write_plan(const TransferPlan& plan) {
  return {{"algorithm", plan.algorithm}, {"protocol", plan.protocol}};
}

Out write_reply(const OpenReply& reply) {
  return {{"reply", "open"},
          {"handle", reply.handle},
          {"execution", json::write(reply.execution)},
          {"per_operation_s", reply.per_operation.value},
          {"plan", reply.plan ? write_plan(*reply.plan) : Out(nullptr)},
          {"plan_cost_s", reply.plan_cost.value},
          {"buffers_s", reply.buffers_time.value},
          {"clocks_s", reply.clocks_time.value},
          {"first_operations_s", reply.first_operations_time.value},
          {"calibrating_s", reply.calibrating_time.value}};
}

Out write_reply(const RunReply& reply) {
  const auto nullable = [](const std::optional<double>& value) { return json::nullable(value); };
  return {{"reply", "run"},
          {"seconds", json::array_of(reply.seconds, nullable)},
          {"health", json::write(reply.health)},
          {"loss", nullable(reply.loss)},
          {"health_seconds", reply.health_seconds}};
}

Out write_reply(const VerifyReply& reply) {
  return {{"reply", "verify"}, {"verification", json::write(reply.verification)}};
}

Out write_reply(const CountersReply& reply) {
  return {{"reply", "counters"},
          {"ranks", json::write(reply.ranks)},
          {"reason", reply.reason},
          {"pcie_reason", reply.pcie_reason}};
}

Out write_reply(const HostCopyReply& reply) {
  return {{"reply", "host_copy"}, {"ranks", json::write(reply.ranks)}};
}

Out write_reply(const DoneReply&) { return {{"reply", "done"}}; }

Out write_reply(const ErrorReply& reply) {
  return {{"reply", "error"},
          {"text", reply.text},
          {"advice", reply.advice},
          {"exit_code", reply.exit_code}};
}

/// Absent from workers of other versions, which a variant may name.
Seconds time_at(const In& in, const char* name) { return Seconds{in.value(name, 0.0)}; }

std::optional<Seconds> rest_in(const In& in) {
  const auto seconds = json::optional_at<double>(in, "rested_s");
  return seconds ? std::optional(Seconds{*seconds}) : std::nullopt;
}

/// Leniently: a variant may name a worker of another version.
template <typename T>
T read_as(const In& in) {
  return json::read<T>(in, {"message", "", "", false});
}

HelloReply read_hello(const In& in) {
  HelloReply reply;
  reply.version = in.at("version");
  reply.backend = parse_backend(in.at("backend").get<std::string>());
  reply.capabilities = read_capabilities(in.at("capabilities"));
  reply.machine = read_as<Machine>(in.at("machine"));
  reply.environment = in.at("environment").get<Environment>();
  if (const auto path = json::optional_at<std::string>(in, "path")) reply.path = parse_path(*path);
  reply.ranks_time = time_at(in, "ranks_s");
  reply.gpus_time = time_at(in, "gpus_s");
  reply.connecting_time = time_at(in, "connecting_s");
  return reply;
}

OpenReply read_open(const In& in) {
  OpenReply reply;
  reply.handle = in.at("handle");
  reply.execution = read_as<Execution>(in.at("execution"));
  reply.per_operation = Seconds{in.at("per_operation_s")};
  const In& plan = in.at("plan");
  if (!plan.is_null()) reply.plan = TransferPlan{plan.at("algorithm"), plan.at("protocol")};
  reply.plan_cost = Seconds{in.at("plan_cost_s")};
  reply.buffers_time = time_at(in, "buffers_s");
  reply.clocks_time = time_at(in, "clocks_s");
  reply.first_operations_time = time_at(in, "first_operations_s");
  reply.calibrating_time = time_at(in, "calibrating_s");
  return reply;
}

RunReply read_run(const In& in) {
  RunReply reply;
  for (const In& value : in.at("seconds")) {
    reply.seconds.push_back(value.is_null() ? std::nullopt
                                            : std::optional<double>(value.get<double>()));
  }
  reply.health = read_as<std::vector<Health>>(in.at("health"));
  reply.loss = json::optional_at<double>(in, "loss");
  reply.health_seconds = in.at("health_seconds");
  return reply;
}

Command read_command(const In& in) {
  const std::string name = in.at("command");
  if (name == "hello") return Hello{};
  if (name == "open") {
    return Open{in.at("case"),
                Seconds{in.at("sample_target_s")},
                in.value("ask_plan", false),
                rest_in(in),
                json::optional_at<std::int64_t>(in, "operations"),
                in.value("products", std::vector<std::string>())};
  }
  if (name == "run") return Run{in.at("handle"), in.at("operations"), rest_in(in)};
  if (name == "verify") return Verify{in.at("handle")};
  if (name == "counters") return Counters{};
  if (name == "host_copy") return HostCopy{};
  if (name == "close") return Close{in.at("handle")};
  if (name == "shutdown") return Shutdown{};
  throw UsageError(fmt::format("unknown command '{}'", name));
}

Reply read_reply(const In& in) {
  const std::string kind = in.at("reply");
  if (kind == "hello") return read_hello(in);
  if (kind == "open") return read_open(in);
  if (kind == "run") return read_run(in);
  if (kind == "verify") return VerifyReply{read_as<Verification>(in.at("verification"))};
  if (kind == "counters") {
    return CountersReply{read_as<std::vector<LinkCounters>>(in.at("ranks")), in.at("reason"),
                         in.at("pcie_reason")};
  }
  if (kind == "host_copy") {
    return HostCopyReply{read_as<std::vector<std::optional<HostCopyRates>>>(in.at("ranks"))};
  }
  if (kind == "done") return DoneReply{};
  if (kind == "error") return ErrorReply{in.at("text"), in.at("advice"), in.at("exit_code")};
  throw UsageError(fmt::format("unknown reply '{}'", kind));
}

/// Parses a line and hands it to `read`; anything wrong with it becomes a UsageError.
template <typename Message, typename Read>
Message decode(std::string_view line, Read read) {
  try {
    return read(json::parse(line));
  } catch (const In::exception& error) {
    throw UsageError(fmt::format("no protocol message: {} in '{}'", error.what(), line));
  }
}

}  // namespace

Capabilities capabilities_of(BackendKind backend) {
  Capabilities capabilities;
  for (OperationKind operation : kOperations) {
    if (supports(backend, operation)) {
      capabilities.operations.emplace_back(linkgain::name_of(operation));
    }
  }
  for (DataType type : kDataTypes) {
    if (supports(backend, type)) capabilities.types.emplace_back(linkgain::name_of(type));
  }
  for (Reduction reduction : kReductions) {
    if (supports(backend, reduction)) {
      capabilities.reductions.emplace_back(linkgain::name_of(reduction));
    }
  }
  for (LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
    if (supports(backend, launch)) {
      capabilities.launch_modes.emplace_back(linkgain::name_of(launch));
    }
  }
  for (const Buffers buffers : kBuffers) {
    if (supports(backend, buffers)) capabilities.buffers.emplace_back(linkgain::name_of(buffers));
  }
  return capabilities;
}

std::string_view name_of(const Command& command) {
  return std::visit(
      Overloaded{[](const Hello&) { return "hello"; }, [](const Open&) { return "open"; },
                 [](const Run&) { return "run"; }, [](const Verify&) { return "verify"; },
                 [](const Counters&) { return "counters"; },
                 [](const HostCopy&) { return "host_copy"; }, [](const Close&) { return "close"; },
                 [](const Shutdown&) { return "shutdown"; }},
      command);
}

std::string encode(const Command& command) { return json::text_of(write_command(command)); }

std::string encode(const Reply& reply) {
  return std::visit([](const auto& value) { return json::text_of(write_reply(value)); }, reply);
}

Command decode_command(std::string_view line) { return decode<Command>(line, read_command); }

Reply decode_reply(std::string_view line) { return decode<Reply>(line, read_reply); }

bool may_be_recorded(std::string_view variable) {
  // Open MPI's launcher sets these for its processes; they say nothing of the run and name its
  // host's addresses and directories.
  static constexpr std::array<std::string_view, 16> kLaunchersOwn{
      "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_plm", "OMPI_MCA_pmix", "OMPI_MCA_shmem",
      "OMPI_MCA_rmaps", "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_ras",
      // Of Open MPI 5.
      "OMPI_MCA_prte_", "OMPI_MCA_PREFIXES", "OMPI_MCA_mca_base_component_path",
      "OMPI_MCA_num_procs", "OMPI_MCA_cpu_type",
      // The job's own folder.
      "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"};
  for (std::string_view own : kLaunchersOwn) {
    if (variable.starts_with(own)) return false;
  }
  for (std::string_view family : {"NCCL_", "OMPI_MCA_", "CUBLAS_", "CUBLASLT_"}) {
    if (variable.starts_with(family)) return true;
  }
  static constexpr std::array<std::string_view, 7> kOthers{
      "LINKGAIN_NCCL",        "CUDA_VISIBLE_DEVICES",        "CUDA_DEVICE_ORDER",
      "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
      "NVIDIA_TF32_OVERRIDE"};
  if (std::ranges::find(kTestVariables, variable) != kTestVariables.end()) return true;
  return std::find(kOthers.begin(), kOthers.end(), variable) != kOthers.end();
}

}  // namespace linkgain::protocol
