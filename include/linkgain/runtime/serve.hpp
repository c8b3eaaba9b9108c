#pragma once

#include "linkgain/runtime/engine.hpp"

namespace linkgain {

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
