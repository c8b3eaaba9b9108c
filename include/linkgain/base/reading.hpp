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

/// A value that was measured, or the reason why it was not. Never a value that stands for "none".
template <typename T>
class Reading {
 public:
  Reading() : reason_("not looked for") {}
  Reading(T value) : value_(std::move(value)) {}

  /// Makes a missing value; `reason` completes "not measured: ...".
  static Reading missing(std::string reason, WhyMissing why = WhyMissing::other) {
    Reading reading;
    reading.reason_ = std::move(reason);
    reading.why_ = why;
    return reading;
  }
  /// Makes one that is missing for the reason that another value is.
  template <typename Other>
  static Reading missing(const Reading<Other>& other) {
    return missing(other.reason(), other.why());
  }

  bool measured() const { return value_.has_value(); }
  /// Returns the value; only where it was measured.
  const T& value() const { return value_.value(); }
  T value_or(T other) const { return value_.value_or(std::move(other)); }
  const std::optional<T>& optional() const { return value_; }
  /// Says why it was not measured; empty where it was.
  const std::string& reason() const { return reason_; }
  /// Says why for decisions; the reason is for people.
  WhyMissing why() const { return why_; }

  bool operator==(const Reading&) const = default;

 private:
  std::optional<T> value_;
  std::string reason_;
  WhyMissing why_ = WhyMissing::other;
};

}  // namespace linkgain
