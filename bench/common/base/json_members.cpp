#include "linkgain/base/json_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/visible_text.hpp"

namespace linkgain::json {
namespace {

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_name_character(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

bool is_digest(std::string_view text) {
  constexpr std::string_view kBegin = "mix64:";
  constexpr std::size_t kDigits = 16;
  if (!text.starts_with(kBegin) || text.size() != kBegin.size() + kDigits) return false;
  return std::ranges::all_of(text.substr(kBegin.size()), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool has_form(std::string_view text, Form form) {
  switch (form) {
    case Form::any:
      return true;
    case Form::words:
      return !text.empty();
    case Form::kebab:
      return !text.empty() &&
             std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
    case Form::name:
      return !text.empty() && std::ranges::all_of(text, is_name_character);
    case Form::digest:
      return is_digest(text);
  }
  return false;
}

}  // namespace

std::string departure(double value, const Rule& rule) {
  if (rule.above && !(value > *rule.above)) {
    return fmt::format("{} is not above {}", value, *rule.above);
  }
  if (!rule.above && !(value >= rule.least)) {
    return fmt::format("{} is less than {}", value, rule.least);
  }
  if (!(value <= rule.most)) return fmt::format("{} is more than {}", value, rule.most);
  return {};
}

std::string departure(std::string_view value, const Rule& rule) {
  if (has_form(value, rule.form)) return {};
  return fmt::format("'{}' is not of the form {}", value, pattern_of(rule.form));
}

std::string_view pattern_of(Form form) {
  switch (form) {
    case Form::any:
      return "";
    case Form::words:
      return "[^]";
    case Form::kebab:
      return "^[a-z0-9-]+$";
    case Form::name:
      return "^[A-Za-z0-9_-]+$";
    case Form::digest:
      return "^mix64:[0-9a-f]{16}$";
  }
  return "";
}

void Place::refuse(const std::string& what) const {
  std::string path = source_.part;
  for (const Part& part : parts_) {
    path += part.key.empty() ? fmt::format("[{}]", part.index) : fmt::format("[{}]", part.key);
  }
  throw UsageError(
      fmt::format("not a valid {0}: at the {0}{1}: {2}", source_.kind, path, visible(what)),
      source_.advice);
}

void Place::require(const std::string& departure) const {
  if (source_.is_strict && !departure.empty()) refuse(departure);
}

const In* Reader::find(const char* key) {
  const auto found = object_.find(key);
  if (found == object_.end()) return nullptr;
  named_.push_back(found.key());
  return &*found;
}

void Reader::end() const {
  if (!place_.source().is_strict || named_.size() == object_.size()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::ranges::find(named_, key) != named_.end()) continue;
    place_.refuse(fmt::format("member '{}' is not known to this version", key));
  }
}

std::string read_text(const In& json, const Rule& rule, const Place& place) {
  if (!json.is_string()) place.refuse("it is no text");
  const auto& text = json.get_ref<const std::string&>();
  place.require(departure(text, rule));
  return text;
}

}  // namespace linkgain::json
