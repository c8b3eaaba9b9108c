#include "linkgain/base/json.hpp"

#include <fmt/format.h>

namespace linkgain::json {
namespace {

std::string rows_of(const Out& value) {
  std::string text = value.is_array() ? "[" : "{";
  const char* separator = "\n ";
  for (const auto& [name, row] : value.items()) {
    text += separator;
    if (value.is_object()) text += fmt::format("\"{}\": ", name);
    text += dump(row);
    separator = ",\n ";
  }
  return text + (value.is_array() ? "\n]" : "\n}");
}

std::string member_text(const Out& value, Layout layout) {
  switch (layout) {
    case Layout::line:
      break;
    case Layout::indented:
      return dump(value, 1);
    case Layout::rows:
      return rows_of(value);
  }
  return dump(value);
}

}  // namespace

std::string dump(const Out& value, int indent) {
  return value.dump(indent, ' ', false, Out::error_handler_t::replace);
}

std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}\"{}\": ", separator, key);
    text += member_text(value, layout_of(key, value));
    separator = ",\n";
  }
  return text + "\n}\n";
}

}  // namespace linkgain::json
