#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/json_node.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"

/// Members of a struct, declared once: a function names each of them to a visitor, which writes it,
/// reads it, or says in a schema what it is.
///
///   void describe_members(auto& visit, json::Is<LevelShift> auto& shift) {
///     visit("launch", shift.launch);
///     visit("ratio", shift.ratio, "of the new level to the old one", {.above = 0.0});
///   }
///
/// What a visitor is told:
///   visit(key, value, text, rule)         a member that is always there
///   visit.later(…)                        the same, but older documents lack it or have null there
///   visit.sparse(…)                       a member that is left out where its value is the default
///   visit.derived(key, value, text, rule) written for other readers, and never read
///   visit.derived_sparse(…)               both
///   visit.other(key, value, text, rule)   read and written elsewhere; `value` shows its type
///   visit.unbounded(key, value, text)     a number that is null where it is infinite
///   visit.constant(key, text)             the same text in all documents
///   visit.estimate(keys, value, texts)    value, interval and replicates of an Estimate, derived
///   visit.section(name, text)             that the schema defines it by this name, before the rest
///
/// Values are truth values, numbers, texts, types with an AsText, structs with members, and
/// optionals (null where absent), vectors and maps of these.
namespace linkgain::json {

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

/// What a text must look like.
enum class Form { any, words, kebab, name, digest };

/// What a value must be beside its type; of arrays, what each item must be.
struct Rule {
  double least = 0.0;
  std::optional<double> above{};  ///< instead of `least`
  double most = std::numeric_limits<double>::infinity();
  std::size_t fewest = 0;  ///< items of an array
  Form form = Form::any;
};

inline constexpr Rule kAnyNumber{.least = -std::numeric_limits<double>::infinity()};
inline constexpr Rule kPositive{.above = 0.0};

/// Says what is wrong with it; empty where nothing is.
std::string departure(double value, const Rule& rule);
std::string departure(std::string_view value, const Rule& rule);
/// Returns whether it can be shown as it is.
bool is_plain(std::string_view name);
/// Returns the form as a regular expression.
std::string_view pattern_of(Form form);

/// The text that stands for a value: static text(value) and parse(text), which throws UsageError.
/// `words` are all that there are, where they can be listed.
template <typename T>
struct AsText;

template <typename T>
concept HasText = requires(const T& value) {
  AsText<T>::text(value);
};

template <HasNames Enum>
struct AsText<Enum> {
  static std::string text(Enum value) { return std::string(name_of(value)); }
  static Enum parse(const std::string& text) { return from_name<Enum>(text); }
  static std::vector<std::string> words() {
    std::vector<std::string> all;
    for (const Named<Enum>& each : kNames<Enum>.rows) all.emplace_back(each.name);
    return all;
  }
};

struct EstimateKeys {
  const char* value;
  const char* low;
  const char* high;
  const char* replicates;
};
using EstimateTexts = EstimateKeys;

template <typename T>
struct ItemOf;
template <typename T>
struct ItemOf<std::vector<T>> {
  using Type = T;
};
template <typename T>
struct ItemOf<std::optional<T>> {
  using Type = T;
};
template <typename T>
struct ItemOf<std::map<std::string, T>> {
  using Type = T;
};

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;

template <typename T>
Out write(const T& value);

/// Writes what describe_members() names, in that order.
class Writer {
 public:
  template <typename T>
  void operator()(const char* key, const T& value, const char* = "", const Rule& = {}) {
    out_[key] = write(value);
  }
  template <typename T>
  void later(const char* key, const T& value, const char* = "", const Rule& = {}) {
    out_[key] = write(value);
  }
  template <typename T>
  void sparse(const char* key, const T& value, const char* = "", const Rule& = {}) {
    if constexpr (is_optional<T>) {
      if (value) out_[key] = write(*value);
    } else {
      if (value != T{}) out_[key] = write(value);
    }
  }
  template <typename T>
  void derived(const char* key, const T& value, const char* = "", const Rule& = {}) {
    out_[key] = write(value);
  }
  template <typename T>
  void derived_sparse(const char* key, const T& value, const char* = "", const Rule& = {}) {
    sparse(key, value);
  }
  template <typename T>
  void other(const char*, const T&, const char* = "", const Rule& = {}) {}
  void unbounded(const char* key, double value, const char* = "") { out_[key] = value; }
  void constant(const char* key, std::string_view text) { out_[key] = text; }
  template <typename Estimate>
  void estimate(const EstimateKeys& keys, const std::optional<Estimate>& value,
                const EstimateTexts& texts, const Rule& rule = {}) {
    if (value) return estimate(keys, *value, texts, rule);
    for (const char* key : {keys.value, keys.low, keys.high, keys.replicates}) out_[key] = nullptr;
  }
  template <typename Estimate>
  void estimate(const EstimateKeys& keys, const Estimate& value, const EstimateTexts&,
                const Rule& = {}) {
    out_[keys.value] = value.value;
    out_[keys.low] = value.interval ? Out(value.interval->low) : Out(nullptr);
    out_[keys.high] = value.interval ? Out(value.interval->high) : Out(nullptr);
    out_[keys.replicates] = value.replicates;
  }
  void section(const char*, const char* = "") {}

  Out take() { return std::move(out_); }

 private:
  Out out_ = Out::object();
};

template <typename T>
Out write(const T& value) {
  if constexpr (HasText<T>) {
    return AsText<T>::text(value);
  } else if constexpr (is_optional<T>) {
    return value ? write(*value) : Out(nullptr);
  } else if constexpr (is_vector<T>) {
    Out array = Out::array();
    for (const typename ItemOf<T>::Type& item : value) array.push_back(write(item));
    return array;
  } else if constexpr (is_map<T>) {
    Out object = Out::object();
    for (const auto& [name, item] : value) object[name] = write(item);
    return object;
  } else if constexpr (std::same_as<T, Seconds>) {
    return value.value;
  } else if constexpr (std::is_arithmetic_v<T> || std::constructible_from<std::string_view, T>) {
    return value;
  } else {
    Writer writer;
    describe_members(writer, value);
    return writer.take();
  }
}

/// What is read, and what is said of a part of it that is not as it should be.
struct Source {
  const char* kind;    ///< "record"
  const char* advice;  ///< what to do where something is wrong
  /// Refuses members that are not named.
  bool knows_all_members = true;
};

/// The path to what is being read, "[cases][0]".
class Place {
 public:
  explicit Place(const Source& source) : source_(source) {}
  void enter(std::string_view key) { parts_.push_back({key, 0}); }
  void enter(std::size_t index) { parts_.push_back({{}, index}); }
  void leave() { parts_.pop_back(); }
  const Source& source() const { return source_; }
  /// Throws a UsageError, "not a valid record: at the record[cases][0]: ...".
  [[noreturn]] void refuse(const std::string& what) const;
  /// Throws the same for a departure from a rule, where there is one.
  void require(const std::string& departure) const {
    if (!departure.empty()) refuse(departure);
  }
  void require_kind(const Node& node, Node::Kind kind) const;

 private:
  struct Part {
    std::string_view key;
    std::size_t index;
  };

  Source source_;
  std::vector<Part> parts_;
};

template <typename T>
void read_value(const Node& node, T& value, const Rule& rule, Place& place);

/// Reads what describe_members() names from one object. Throws UsageError where a member is
/// missing, is not as its rule asks, or is there and not named.
class Reader {
 public:
  Reader(const Node& object, Place& place) : object_(object), place_(place) {
    place.require_kind(object, Node::Kind::object);
    ahead_ = members_.emplace(object).next();
  }

  template <typename T>
  void operator()(const char* key, T& value, const char* = "", const Rule& rule = {}) {
    read(key, at(key), value, rule);
  }
  template <typename T>
  void later(const char* key, T& value, const char* = "", const Rule& rule = {}) {
    const std::optional<Node> found = find(key);
    if (found && !found->is_null()) read(key, *found, value, rule);
  }
  template <typename T>
  void sparse(const char* key, T& value, const char* = "", const Rule& rule = {}) {
    const std::optional<Node> found = find(key);
    if (!found) return;
    if constexpr (is_optional<T>) {
      read(key, *found, value.emplace(), rule);
    } else {
      read(key, *found, value, rule);
    }
  }
  template <typename T>
  void derived(const char* key, const T&, const char* = "", const Rule& = {}) {
    find(key);
  }
  template <typename T>
  void derived_sparse(const char* key, const T&, const char* = "", const Rule& = {}) {
    find(key);
  }
  template <typename T>
  void other(const char* key, const T&, const char* = "", const Rule& = {}) {
    find(key);
  }
  void unbounded(const char* key, double& value, const char* = "") {
    std::optional<double> bounded;
    (*this)(key, bounded);
    value = bounded.value_or(std::numeric_limits<double>::infinity());
  }
  void constant(const char* key, std::string_view) { find(key); }
  template <typename Estimate>
  void estimate(const EstimateKeys& keys, const Estimate&, const EstimateTexts&, const Rule& = {}) {
    for (const char* key : {keys.value, keys.low, keys.high, keys.replicates}) find(key);
  }
  void section(const char*, const char* = "") {}

  /// Ends, after all members.
  void end() const;

 private:
  std::optional<Node> find(const char* key);
  /// Throws where there is none.
  Node at(const char* key);
  template <typename T>
  void read(const char* key, const Node& node, T& value, const Rule& rule) {
    place_.enter(key);
    read_value(node, value, rule, place_);
    place_.leave();
  }

  Node object_;
  Place& place_;
  /// The member that follows the last one found, if they stand in the order in which they are
  /// named: a look at it alone is quicker than a search.
  std::optional<Members> members_{};
  std::optional<std::pair<std::string_view, Node>> ahead_{};
  std::vector<std::string_view> named_{};  ///< members that are there
};

void read_plain(const Node& node, double& value, const Rule& rule, const Place& place);
void read_plain(const Node& node, bool& value, const Rule& rule, const Place& place);
void read_plain(const Node& node, std::string& value, const Rule& rule, const Place& place);

template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

/// Reads a whole number in T, within the rule.
template <WholeNumber T>
void read_whole(const Node& node, T& value, const Rule& rule, const Place& place) {
  const std::optional<T> whole = node.whole<T>();
  if (!whole) place.refuse("it is no whole number within its limits");
  place.require(departure(static_cast<double>(*whole), rule));
  value = *whole;
}

/// What columns of samples hold.
template <typename T>
inline constexpr bool is_number = std::same_as<T, double> || WholeNumber<T>;
template <typename T>
inline constexpr bool is_number<std::optional<T>> = is_number<T>;

template <typename T>
bool keeps_rule(const T& value, const Rule& rule) {
  const double number = static_cast<double>(value);
  return (rule.above ? number > *rule.above : number >= rule.least) && number <= rule.most;
}
template <typename T>
bool keeps_rule(const std::optional<T>& value, const Rule& rule) {
  return !value || keeps_rule(*value, rule);
}

template <typename T>
void read_items(const Node& node, std::vector<T>& values, const Rule& rule, Place& place) {
  place.require_kind(node, Node::Kind::array);
  const std::size_t count = node.size();
  if (count < rule.fewest) place.refuse("it has too few items");
  values.clear();
  values.reserve(count);
  if constexpr (is_number<T>) {
    node.append_numbers_to(values);
    const auto keeps = [&](const T& value) { return keeps_rule(value, rule); };
    if (values.size() == count && std::ranges::all_of(values, keeps)) return;
    values.clear();
  }
  Items items(node);
  while (const std::optional<Node> item = items.next()) {
    place.enter(values.size());
    T value{};
    read_value(*item, value, rule, place);
    values.push_back(std::move(value));
    place.leave();
  }
}

template <typename T>
void read_map(const Node& node, std::map<std::string, T>& values, const Rule& rule, Place& place) {
  place.require_kind(node, Node::Kind::object);
  values.clear();
  Members members(node);
  while (const auto member = members.next()) {
    const auto& [name, own] = *member;
    place.enter(name);
    const auto [entry, is_new] = values.try_emplace(std::string(name));
    if (!is_new) place.refuse("it is there twice");
    if (!is_plain(name)) place.refuse("its name is no text");
    read_value(own, entry->second, rule, place);
    place.leave();
  }
}

template <typename T>
void read_value(const Node& node, T& value, const Rule& rule, Place& place) {
  if constexpr (HasText<T>) {
    std::string text;
    read_plain(node, text, rule, place);
    try {
      value = AsText<T>::parse(text);
    } catch (const UsageError& error) {
      place.refuse(error.what());
    }
  } else if constexpr (is_optional<T>) {
    value.reset();
    if (!node.is_null()) read_value(node, value.emplace(), rule, place);
  } else if constexpr (is_vector<T>) {
    read_items(node, value, rule, place);
  } else if constexpr (is_map<T>) {
    read_map(node, value, rule, place);
  } else if constexpr (std::same_as<T, Seconds>) {
    read_plain(node, value.value, rule, place);
  } else if constexpr (std::same_as<T, double> || std::same_as<T, bool> ||
                       std::same_as<T, std::string>) {
    read_plain(node, value, rule, place);
  } else if constexpr (WholeNumber<T>) {
    read_whole(node, value, rule, place);
  } else {
    Reader reader(node, place);
    describe_members(reader, value);
    reader.end();
  }
}

template <typename T>
T read(const Node& node, const Source& source) {
  T value{};
  Place place(source);
  read_value(node, value, {}, place);
  return value;
}

template <typename T>
T read(std::string_view text, const Source& source) {
  const Document document(text);
  return read<T>(document.root(), source);
}

}  // namespace linkgain::json
