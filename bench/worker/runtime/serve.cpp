#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/engine.hpp"

namespace linkgain {

ProtocolChannel::ProtocolChannel()
    : output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (output_ < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw MachineError("standard output is not open", "let `linkgain run` start this program");
  }
}

ProtocolChannel::~ProtocolChannel() { ::close(output_); }

std::optional<std::string> ProtocolChannel::read_line() {
  for (;;) {
    const std::size_t end = pending_.find('\n');
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void ProtocolChannel::write_line(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = ::write(output_, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the coordinator is gone; standard input's end will tell
    sent += static_cast<std::size_t>(count);
  }
}

void serve(Session& session, Engine& engine, ProtocolChannel& channel,
           const std::optional<Fault>& fault) {
  if (!session.is_root()) {
    engine.follow();
    return;
  }
  while (const std::optional<std::string> line = channel.read_line()) {
    protocol::Command command;
    try {
      command = protocol::decode_command(*line);
    } catch (const UsageError& error) {
      channel.write_line(protocol::encode(
          protocol::ErrorReply{error.what(), error.advice(), static_cast<int>(ExitCode::usage)}));
      continue;
    }
    const std::string reply = protocol::encode(engine.lead(command));
    const bool timed = std::holds_alternative<protocol::Run>(command);
    if (timed) obey(fault, session.rank(), Fault::Place::reply, engine.batches());
    const bool garbles =
        timed && fault && fault->kind == Fault::Kind::garbage && fault->batch == engine.batches();
    channel.write_line(garbles ? reply.substr(0, reply.size() / 2) : reply);
    if (std::holds_alternative<protocol::Shutdown>(command)) return;
  }
  engine.lead(protocol::Shutdown{});
}

}  // namespace linkgain
