#pragma once

#include <unistd.h>

#include <utility>

namespace linkgain {

/// Owner of an open file descriptor, which it closes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  /// Returns the descriptor; -1 when nothing is owned.
  int get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ >= 0; }

  void reset() noexcept {
    if (value_ >= 0) ::close(std::exchange(value_, -1));
  }

 private:
  int value_ = -1;
};

}  // namespace linkgain
