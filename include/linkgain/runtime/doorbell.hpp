#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// Wakes the ranks of rank 0's host without their having to look: each waits on a socket of its own
/// that rank 0 sends to. Ranks that rank 0 cannot reach that way (other hosts, other network
/// namespaces) have to poll. Uses abstract Unix sockets, which vanish with their process.
class Doorbell {
 public:
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// This rank's address, for rank 0; empty where there is no such socket.
  const std::string& address() const { return address_; }

  /// Rank 0: rings whoever is behind these addresses; those that cannot be reached are left out.
  void ring(const std::vector<std::string>& addresses) const;

  /// Sleeps until rung, at most `milliseconds`. Several rings before the call count as one.
  bool wait(int milliseconds) const;

 private:
  int socket_ = -1;
  std::string address_;
};

}  // namespace linkgain
