#include "linkgain/base/json_members.hpp"

#include <fmt/format.h>

#include "linkgain/base/text.hpp"

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

const char* what_is_asked(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::null:
      return "it is not null";
    case Node::Kind::boolean:
      return "it is neither true nor false";
    case Node::Kind::whole:
    case Node::Kind::number:
      return "it is no number";
    case Node::Kind::text:
      return "it is no text";
    case Node::Kind::array:
      return "it is no array";
    case Node::Kind::object:
      return "it is no object";
  }
  return "";
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
      return "[\\s\\S]";
    case Form::kebab:
      return "^[a-z0-9-]+$";
    case Form::name:
      return "^[A-Za-z0-9_-]+$";
    case Form::digest:
      return "^mix64:[0-9a-f]{16}$";
  }
  return "";
}

bool is_plain(std::string_view name) { return visible(name) == name; }

void Place::refuse(const std::string& what) const {
  std::string path;
  for (const Part& part : parts_) {
    path += part.key.empty() ? fmt::format("[{}]", part.index) : fmt::format("[{}]", part.key);
  }
  throw UsageError(fmt::format("not a valid {0}: at the {0}{1}: {2}", source_.kind, visible(path),
                               visible(what)),
                   source_.advice);
}

void Place::require_kind(const Node& node, Node::Kind kind) const {
  const Node::Kind own = node.kind();
  if (own != kind && !(kind == Node::Kind::number && own == Node::Kind::whole)) {
    refuse(what_is_asked(kind));
  }
}

std::optional<Node> Reader::find(const char* key) {
  if (ahead_ && ahead_->first == key) {
    named_.emplace_back(key);
    const Node found = ahead_->second;
    ahead_ = members_->next();
    return found;
  }
  std::optional<Node> found = object_.find(key);
  if (found) named_.emplace_back(key);
  return found;
}

Node Reader::at(const char* key) {
  const std::optional<Node> found = find(key);
  if (!found) place_.refuse(fmt::format("it has no member '{}'", key));
  return *found;
}

void Reader::end() const {
  if (!place_.source().knows_all_members || named_.size() == object_.size()) return;
  std::vector<std::string_view> seen;
  Members members(object_);
  while (const auto member = members.next()) {
    const std::string_view key = member->first;
    if (std::ranges::find(named_, key) == named_.end()) {
      place_.refuse(fmt::format("member '{}' is not known to this version", key));
    }
    if (std::ranges::find(seen, key) != seen.end()) {
      place_.refuse(fmt::format("member '{}' is there twice", key));
    }
    seen.push_back(key);
  }
}

void read_plain(const Node& node, double& value, const Rule& rule, const Place& place) {
  place.require_kind(node, Node::Kind::number);
  value = node.number();
  place.require(departure(value, rule));
}

void read_plain(const Node& node, bool& value, const Rule&, const Place& place) {
  place.require_kind(node, Node::Kind::boolean);
  value = node.boolean();
}

void read_plain(const Node& node, std::string& value, const Rule& rule, const Place& place) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  place.require_kind(node, Node::Kind::text);
  value = visible_lines(node.text().substr(0, kMostBytes));
  place.require(departure(value, rule));
}

}  // namespace linkgain::json
