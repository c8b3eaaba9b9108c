#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace linkgain::json {

template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

/// Returns whether it is a whole number that T holds.
template <WholeNumber T>
bool holds(double value) {
  // A power of two, which a double holds exactly: one past the largest T.
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double least = std::numeric_limits<T>::is_signed ? -end : 0.0;
  return value >= least && value < end && std::trunc(value) == value;
}

/// Returns the same of a JSON value. True of what is no number and no truth value either.
template <WholeNumber T, typename Json>
bool holds_number(const Json& json) {
  using Unsigned = const typename Json::number_unsigned_t*;
  using Signed = const typename Json::number_integer_t*;
  using Float = const typename Json::number_float_t*;
  if (const auto number = json.template get_ptr<Unsigned>()) return std::in_range<T>(*number);
  if (const auto number = json.template get_ptr<Signed>()) return std::in_range<T>(*number);
  if (const auto number = json.template get_ptr<Float>()) return holds<T>(*number);
  return !json.is_boolean();
}

}  // namespace linkgain::json

/// By itself the library makes a whole number of any number: what the type does not hold is cut
/// off, or undefined where it is a double. With this it refuses what is no whole number and what
/// the type does not hold. All of linkgain includes the library by way of this header.
template <linkgain::json::WholeNumber T>
struct nlohmann::adl_serializer<T, void> {
  template <typename Json>
  static void from_json(const Json& json, T& value) {
    if (!linkgain::json::holds_number<T>(json)) {
      constexpr const char* kProblem = "type must be a whole number within its limits";
      throw Json::type_error::create(302, kProblem, &json);
    }
    nlohmann::from_json(json, value);
  }
  template <typename Json>
  static void to_json(Json& json, T value) {
    nlohmann::to_json(json, value);
  }
};
