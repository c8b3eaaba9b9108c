#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// What all JSON of linkgain is made with. Written with a fixed key order; read from any order.
/// Absent optionals are null.
namespace linkgain::json {

using Out = nlohmann::ordered_json;
using In = nlohmann::json;

/// What a document may have at most: ten times what records of 100,000 samples do. A number takes
/// some 30 bytes of memory while it is read, each of the parts up to 100, whatever the file needs
/// for it.
struct DocumentLimits {
  std::size_t values = 20'000'000;
  std::size_t parts = 4'000'000;  ///< members of objects, objects, lists and texts
};

/// Parses a document of others; its texts are visible_lines() of their first 64 KiB. Throws
/// nlohmann's exceptions where it is no JSON, UsageError where it has more than `most`, or an
/// object has a member twice or one whose name holds control characters.
In parse(std::string_view text, const DocumentLimits& most = {});

/// Writes JSON; `indent` -1: on one line. Bytes that are no UTF-8, as arguments and variables may
/// hold, are replaced.
std::string text_of(const Out& value, int indent = -1);

/// How a member of a document is written: on its own line, over several with a step of one space,
/// or with a line for each of its elements or members.
enum class Layout { line, indented, rows };

/// Lays a document out with every member on a line of its own, its value as `layout_of` says of
/// name and value. Rows are for arrays and objects that are not empty.
std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of);

/// Returns a document of its own, a member a line.
inline std::string document_text(const Out& members) { return text_of(members, 1) + "\n"; }

template <typename T>
Out nullable(const std::optional<T>& value) {
  return value ? Out(*value) : Out(nullptr);
}

template <typename T, typename Write>
Out array_of(const std::vector<T>& values, Write write) {
  Out array = Out::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

template <typename T, typename Read>
std::vector<T> vector_of(const In& array, Read read) {
  std::vector<T> values;
  values.reserve(array.size());
  for (const In& item : array) values.push_back(read(item));
  return values;
}

}  // namespace linkgain::json
