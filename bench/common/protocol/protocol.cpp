#include "linkgain/protocol/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <type_traits>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/record_members.hpp"

namespace linkgain::protocol {

/// A time that a job tells: no more than a run takes.
constexpr json::Rule kTime{.most = 1e6};

template <typename Message>
concept WithoutMembers = std::same_as<std::remove_const_t<Message>, Hello> ||
    std::same_as<std::remove_const_t<Message>, Counters> ||
    std::same_as<std::remove_const_t<Message>, HostCopy> ||
    std::same_as<std::remove_const_t<Message>, Shutdown> ||
    std::same_as<std::remove_const_t<Message>, DoneReply>;

void describe_members(auto&, WithoutMembers auto&) {}

void describe_members(auto& visit, json::Is<Open> auto& open) {
  visit("case", open.case_name);
  visit("sample_target_s", open.sample_target);
  visit.later("ask_plan", open.ask_plan);
  visit.sparse("rested_s", open.rested);
  visit.sparse("operations", open.operations);
  visit.sparse("products", open.products);
}

void describe_members(auto& visit, json::Is<Run> auto& run) {
  visit("handle", run.handle);
  visit("operations", run.operations);
  visit.sparse("rested_s", run.rested);
}

void describe_members(auto& visit, json::Is<Verify> auto& verify) {
  visit("handle", verify.handle);
}

void describe_members(auto& visit, json::Is<Close> auto& close) { visit("handle", close.handle); }

void describe_members(auto& visit, json::Is<Capabilities> auto& capabilities) {
  visit("operations", capabilities.operations);
  visit("types", capabilities.types);
  visit("reductions", capabilities.reductions);
  visit("launch_modes", capabilities.launch_modes);
  visit("buffers", capabilities.buffers);
}

// Times of their start and of opening a case are absent from workers of other versions.

void describe_members(auto& visit, json::Is<HelloReply> auto& reply) {
  visit("version", reply.version);
  visit("backend", reply.backend);
  visit("capabilities", reply.capabilities);
  visit("machine", reply.machine);
  visit("environment", reply.environment);
  visit.later("path", reply.path);
  visit.later("ranks_s", reply.ranks_time, "", kTime);
  visit.later("gpus_s", reply.gpus_time, "", kTime);
  visit.later("connecting_s", reply.connecting_time, "", kTime);
}

void describe_members(auto& visit, json::Is<OpenReply> auto& reply) {
  visit("handle", reply.handle);
  visit("execution", reply.execution);
  visit("per_operation_s", reply.per_operation, "", kTime);
  visit("plan", reply.plan);
  visit("plan_cost_s", reply.plan_cost, "", kTime);
  visit.later("buffers_s", reply.buffers_time, "", kTime);
  visit.later("clocks_s", reply.clocks_time, "", kTime);
  visit.later("first_operations_s", reply.first_operations_time, "", kTime);
  visit.later("calibrating_s", reply.calibrating_time, "", kTime);
}

void describe_members(auto& visit, json::Is<RunReply> auto& reply) {
  // A nanosecond is the least that a clock tells, of the longest batch.
  constexpr double kShortest = 1e-9 / static_cast<double>(kMostOperations);
  visit("seconds", reply.times, "", {.least = kShortest, .most = kTime.most});
  visit("health", reply.health);
  visit.later("loss", reply.loss, "", json::kAnyNumber);
  visit("health_seconds", reply.health_time, "", kTime);
}

void describe_members(auto& visit, json::Is<VerifyReply> auto& reply) {
  visit("verification", reply.verification);
}

void describe_members(auto& visit, json::Is<CountersReply> auto& reply) {
  visit("ranks", reply.ranks);
  visit("reason", reply.reason);
  visit("pcie_reason", reply.pcie_reason);
}

void describe_members(auto& visit, json::Is<HostCopyReply> auto& reply) {
  visit("ranks", reply.ranks);
}

void describe_members(auto& visit, json::Is<ErrorReply> auto& reply) {
  visit("text", reply.text);
  visit("advice", reply.advice);
  visit("exit_code", reply.exit_code, "", json::kAnyNumber);
}

namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// In the order of the variants' types.
constexpr std::array<std::string_view, 8> kCommands{"hello",    "open",      "run",   "verify",
                                                    "counters", "host_copy", "close", "shutdown"};
constexpr std::array<std::string_view, 8> kReplies{"hello",    "open",      "run",  "verify",
                                                   "counters", "host_copy", "done", "error"};
static_assert(kCommands.size() == std::variant_size_v<Command>);
static_assert(kReplies.size() == std::variant_size_v<Reply>);

/// Another version's worker, which a variant may name, may tell more.
constexpr json::Source kMessage{.kind = "message", .advice = "", .knows_all_members = false};

/// Writes its kind, then its members.
template <typename Message>
std::string encode_as(const char* kind, std::string_view name, const Message& message) {
  json::Out out{{kind, name}};
  std::visit([&](const auto& each) { out.update(json::write(each)); }, message);
  return json::dump(out);
}

template <typename Message, std::size_t... places>
std::optional<Message> read_named(const json::Node& node, std::size_t place,
                                  std::index_sequence<places...>) {
  std::optional<Message> message;
  const auto read = [&]<std::size_t own>() {
    if (own == place)
      message = json::read<std::variant_alternative_t<own, Message>>(node, kMessage);
  };
  (read.template operator()<places>(), ...);
  return message;
}

json::Document parsed(std::string_view line) {
  try {
    return json::Document(line);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("no protocol message: {} in '{}'", error.what(), line));
  }
}

template <typename Message>
Message decode_as(const char* kind, const auto& names, std::string_view line) {
  const json::Document document = parsed(line);
  const json::Node root = document.root();
  const std::optional<json::Node> own = root.is_object() ? root.find(kind) : std::nullopt;
  if (!own) throw UsageError(fmt::format("no protocol message: it has no member '{}'", kind));
  const auto name = json::read<std::string>(*own, kMessage);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    constexpr bool is_command = std::is_same_v<Message, Command>;
    throw UsageError(fmt::format(is_command ? "unknown command '{}'" : "unknown reply '{}'", name));
  }
  return read_named<Message>(root, static_cast<std::size_t>(found - names.begin()),
                             std::make_index_sequence<std::variant_size_v<Message>>())
      .value();
}

void require_of_each(std::string_view what, std::size_t count, std::optional<int> ranks) {
  if (!ranks || count == static_cast<std::size_t>(*ranks)) return;
  throw UsageError(fmt::format("it has {} of {} instead of {}", what,
                               counted(static_cast<std::int64_t>(count), "rank", "ranks"), *ranks));
}

void require_places(const std::vector<RankInfo>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank == static_cast<int>(i)) continue;
    throw UsageError(fmt::format("it has rank {} in the place of rank {}", ranks[i].rank, i));
  }
}

void require_batch(const OpenReply& reply) {
  const double batch =
      reply.per_operation.value * static_cast<double>(reply.execution.operations_per_sample);
  if (batch <= kTime.most) return;
  throw UsageError(fmt::format("a batch took {:g} s", batch));
}

void require_checked(const Verification& found) {
  if (found.checked >= 1 && found.wrong <= found.checked) return;
  throw UsageError(fmt::format("{} of {} verified elements are wrong", found.wrong, found.checked));
}

}  // namespace

Capabilities capabilities_of(BackendKind backend) {
  Capabilities capabilities;
  for (OperationKind operation : kOperations) {
    if (supports(backend, operation)) {
      capabilities.operations.emplace_back(linkgain::name_of(operation));
    }
  }
  for (DataType type : kValues<DataType>) {
    if (supports(backend, type)) capabilities.types.emplace_back(linkgain::name_of(type));
  }
  for (Reduction reduction : kValues<Reduction>) {
    if (supports(backend, reduction)) {
      capabilities.reductions.emplace_back(linkgain::name_of(reduction));
    }
  }
  for (LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
    if (supports(backend, launch)) {
      capabilities.launch_modes.emplace_back(linkgain::name_of(launch));
    }
  }
  for (const Buffers buffers : kValues<Buffers>) {
    if (supports(backend, buffers)) capabilities.buffers.emplace_back(linkgain::name_of(buffers));
  }
  return capabilities;
}

std::string_view name_of(const Command& command) { return kCommands.at(command.index()); }

std::string encode(const Command& command) {
  return encode_as("command", name_of(command), command);
}

std::string encode(const Reply& reply) {
  return encode_as("reply", kReplies.at(reply.index()), reply);
}

Command decode_command(std::string_view line) {
  return decode_as<Command>("command", kCommands, line);
}

Reply decode_reply(std::string_view line) { return decode_as<Reply>("reply", kReplies, line); }

void require_possible(const Reply& reply, std::optional<int> ranks) {
  std::visit(Overloaded{[&](const HelloReply& hello) {
                          require_of_each("places", hello.machine.ranks.size(), ranks);
                          require_places(hello.machine.ranks);
                        },
                        [](const OpenReply& open) { require_batch(open); },
                        [&](const RunReply& run) {
                          require_of_each("times", run.times.size(), ranks);
                          require_of_each("health", run.health.size(), ranks);
                        },
                        [](const VerifyReply& verify) { require_checked(verify.verification); },
                        [&](const CountersReply& counters) {
                          require_of_each("counters", counters.ranks.size(), ranks);
                        },
                        [&](const HostCopyReply& copies) {
                          require_of_each("copies", copies.ranks.size(), ranks);
                        },
                        [](const DoneReply&) {}, [](const ErrorReply&) {}},
             reply);
}

}  // namespace linkgain::protocol
