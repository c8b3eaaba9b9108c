#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

/// What all JSON of linkgain is written with, its keys in a fixed order (json_node reads). Absent
/// optionals are null.
namespace linkgain::json {

using Out = nlohmann::ordered_json;

/// Writes JSON; `indent` -1: on one line. Bytes that are no UTF-8, as arguments and variables may
/// hold, are replaced.
std::string dump(const Out& value, int indent = -1);

/// How a member of a document is written: on its own line, over several with a step of one space,
/// or with a line for each of its elements or members.
enum class Layout { line, indented, rows };

/// Lays a document out with every member on a line of its own, its value as `layout_of` says of
/// name and value. Rows are for arrays and objects that are not empty.
std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of);

/// Returns a document of its own, a member a line.
inline std::string document_text(const Out& members) { return dump(members, 1) + "\n"; }

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

}  // namespace linkgain::json
