// A line of the protocol between coordinator and worker: a command or a reply.
#include "fuzz_target.hpp"
#include "linkgain/protocol/protocol.hpp"

namespace linkgain {
namespace {

template <typename Decode>
void read_by(Decode decode, std::string_view line) {
  const auto encode = [](const auto& message) { return protocol::encode(message); };
  fuzz::require_round_trip(decode(line), decode, encode);
}

void read(std::string_view line) {
  if (fuzz::reads([&] { read_by(protocol::decode_command, line); })) return;
  protocol::require_possible(protocol::decode_reply(line), std::nullopt);
  read_by(protocol::decode_reply, line);
}

}  // namespace
}  // namespace linkgain
