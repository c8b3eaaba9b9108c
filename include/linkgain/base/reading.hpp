#pragma once

#include <optional>
#include <string>
#include <utility>

namespace linkgain {

/// A value that was measured, or the reason why it was not. Never a value that stands for "none".
template <typename T>
class Reading {
 public:
  Reading() : reason_("not looked for") {}
  Reading(T value) : value_(std::move(value)) {}

  /// `reason` completes "not measured: ...".
  static Reading missing(std::string reason) {
    Reading reading;
    reading.reason_ = std::move(reason);
    return reading;
  }

  bool measured() const { return value_.has_value(); }
  /// Only where it was measured.
  const T& value() const { return value_.value(); }
  T value_or(T other) const { return value_.value_or(std::move(other)); }
  const std::optional<T>& optional() const { return value_; }
  /// Empty where it was measured.
  const std::string& reason() const { return reason_; }

  bool operator==(const Reading&) const = default;

 private:
  std::optional<T> value_;
  std::string reason_;
};

}  // namespace linkgain
