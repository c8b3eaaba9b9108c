#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/json_document.hpp"
#include "linkgain/base/json_library.hpp"

/// What all JSON of linkgain is made with. Written with a fixed key order; read from any order.
/// Absent optionals are null.
namespace linkgain::json {

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
