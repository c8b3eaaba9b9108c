#include "linkgain/runtime/doorbell.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace linkgain {

Doorbell::Doorbell() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (socket_ < 0) return;
  // Binding to the family alone has the kernel choose a free abstract name.
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own.sun_family) != 0) return;
  socklen_t length = sizeof own;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &length) != 0) return;
  address_.assign(own.sun_path, length - offsetof(sockaddr_un, sun_path));
}

Doorbell::~Doorbell() {
  if (socket_ >= 0) ::close(socket_);
}

void Doorbell::ring(const std::vector<std::string>& addresses) const {
  for (const std::string& address : addresses) {
    sockaddr_un other{};
    if (address.empty() || address.size() > sizeof other.sun_path) continue;
    other.sun_family = AF_UNIX;
    std::memcpy(other.sun_path, address.data(), address.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    // A full queue means that the rank has been rung already; a missing rank is MPI's to notice.
    const char signal = 1;
    [[maybe_unused]] const ssize_t sent = ::sendto(socket_, &signal, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                                                   reinterpret_cast<sockaddr*>(&other), length);
  }
}

bool Doorbell::wait(int milliseconds) const {
  pollfd waiting{socket_, POLLIN, 0};
  if (socket_ < 0 || ::poll(&waiting, 1, milliseconds) <= 0) return false;
  char signals[64];
  while (::recv(socket_, signals, sizeof signals, MSG_DONTWAIT) > 0) {
  }
  return true;
}

}  // namespace linkgain
