#pragma once

#include <optional>
#include <string>
#include <utility>

namespace linkgain {

/// Why a value is missing, where something depends on that.
enum class WhyMissing {
  other,
  unsupported,  ///< the device has no such thing
  lost,         ///< the device cannot be reached any more
  hidden,       ///< it is kept from this process
  not_asked,
};

/// What a Reading holds in place of a value; `reason` completes "not measured: ...".
struct Missing {
  std::string reason;
  WhyMissing why = WhyMissing::other;

  bool operator==(const Missing&) const = default;
};

/// A value that was measured, or the reason why it was not. Never a value that stands for "none".
template <typename T>
class Reading {
 public:
  Reading() = default;
  Reading(T value) : value_(std::move(value)), missing_{} {}
  Reading(Missing missing) : missing_(std::move(missing)) {}

  bool measured() const { return value_.has_value(); }
  /// Returns the value; only where it was measured.
  const T& value() const { return value_.value(); }
  T value_or(T other) const { return value_.value_or(std::move(other)); }
  const std::optional<T>& optional() const { return value_; }
  /// Says why it was not measured; empty where it was.
  const std::string& reason() const { return missing_.reason; }
  /// Says why for decisions; the reason is for people.
  WhyMissing why() const { return missing_.why; }
  /// Returns both, for another value that is missing with this one.
  const Missing& missing() const { return missing_; }

  bool operator==(const Reading&) const = default;

 private:
  std::optional<T> value_;
  Missing missing_{"not looked for"};
};

}  // namespace linkgain
