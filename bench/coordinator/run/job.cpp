#include "linkgain/run/job.hpp"

#include <fmt/format.h>

#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kMismatchAdvice =
    "linkgain and linkgain-bench must come from the same build";

/// Statuses that are no error, or unknown here, count as a problem.
ExitCode exit_code_from(int status) {
  const bool is_known = status > static_cast<int>(ExitCode::success) &&
                        status <= static_cast<int>(ExitCode::unhealthy);
  return is_known ? static_cast<ExitCode>(status) : ExitCode::problem_found;
}

protocol::Reply decoded(const protocol::Command& command, const std::string& line) {
  try {
    return protocol::decode_reply(line);
  } catch (const Error& error) {
    throw JobLost(fmt::format("the reply to '{}' is not understood: {}", protocol::name_of(command),
                              error.what()),
                  std::string(kMismatchAdvice));
  }
}

}  // namespace

template <typename ReplyType>
ReplyType Job::exchange(const protocol::Command& command, Seconds deadline) {
  protocol::Reply reply = decoded(command, do_exchange(protocol::encode(command), deadline));
  if (auto* expected = std::get_if<ReplyType>(&reply)) return std::move(*expected);
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) {
    throw JobRefused(error->text, error->advice, exit_code_from(error->exit_code));
  }
  throw JobLost(
      fmt::format("the reply to '{}' belongs to another command", protocol::name_of(command)),
      std::string(kMismatchAdvice));
}

protocol::HelloReply Job::hello(Seconds deadline) {
  auto reply = exchange<protocol::HelloReply>(protocol::Hello{}, deadline);
  if (reply.version != protocol::kVersion) {
    throw JobLost(fmt::format("linkgain-bench speaks version {} of the protocol, linkgain {}",
                              reply.version, protocol::kVersion),
                  std::string(kMismatchAdvice));
  }
  return reply;
}

protocol::OpenReply Job::open(const protocol::Open& command, Seconds deadline) {
  return exchange<protocol::OpenReply>(command, deadline);
}

protocol::RunReply Job::run(int handle, std::int64_t operations, Seconds deadline) {
  return exchange<protocol::RunReply>(protocol::Run{.handle = handle, .operations = operations},
                                      deadline);
}

Verification Job::verify(int handle, Seconds deadline) {
  return exchange<protocol::VerifyReply>(protocol::Verify{handle}, deadline).verification;
}

protocol::CountersReply Job::counters(Seconds deadline) {
  return exchange<protocol::CountersReply>(protocol::Counters{}, deadline);
}

std::vector<std::optional<HostCopyRates>> Job::host_copy(Seconds deadline) {
  return exchange<protocol::HostCopyReply>(protocol::HostCopy{}, deadline).ranks;
}

void Job::close(int handle, Seconds deadline) {
  exchange<protocol::DoneReply>(protocol::Close{handle}, deadline);
}

void Job::bye(Seconds deadline) {
  const Deadline end(deadline);
  ask_to_end(deadline);
  wait_for_end(end.remaining());
}

void Job::ask_to_end(Seconds deadline) { exchange<protocol::DoneReply>(protocol::Bye{}, deadline); }

}  // namespace linkgain
