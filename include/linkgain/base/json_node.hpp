#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// JSON documents of others, parsed by simdjson: ten times as fast as nlohmann's parser is. Its
/// header is included by one file only.
namespace linkgain::json {

/// A value of a Document, which must outlive it and what it returns.
class Node {
 public:
  enum class Kind { null, boolean, whole, number, text, array, object };

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_number() const { return kind() == Kind::whole || kind() == Kind::number; }
  bool is_object() const { return kind() == Kind::object; }

  // Each of the kind that it names.
  bool boolean() const;
  double number() const;
  std::string_view text() const;
  /// Returns the whole number; nothing where it is none, or none that T holds.
  template <typename T>
  std::optional<T> whole() const {
    std::int64_t value = 0;
    if (holds(value)) return std::in_range<T>(value) ? std::optional<T>(value) : std::nullopt;
    std::uint64_t large = 0;
    return holds(large) && std::in_range<T>(large) ? std::optional<T>(large) : std::nullopt;
  }

  /// Counts the items of an array or the members of an object.
  std::size_t size() const;
  /// Appends the items of an array up to the first that is none of T, which is a number, or an
  /// optional one that is null where it is absent. For columns of many thousands.
  template <typename T>
  void append_numbers_to(std::vector<T>& values) const;
  /// Returns a member of an object; absent where it has none of this name.
  std::optional<Node> find(std::string_view key) const;

 private:
  friend class Document;
  friend class Items;
  friend class Members;
  /// What simdjson refers to a value by.
  using Reference = std::array<std::uintptr_t, 2>;

  explicit Node(const Reference& reference) : reference_(reference) {}
  bool holds(std::int64_t& value) const;
  bool holds(std::uint64_t& value) const;

  Reference reference_;
};

/// Goes through the items of an array.
class Items {
 public:
  explicit Items(const Node& array);
  /// Returns the next one; nothing after the last.
  std::optional<Node> next();

 private:
  Node::Reference at_;
  Node::Reference end_;
};

/// Goes through the members of an object.
class Members {
 public:
  explicit Members(const Node& object);
  std::optional<std::pair<std::string_view, Node>> next();

 private:
  Node::Reference at_;
  Node::Reference end_;
};

/// Text that was parsed. Movable.
class Document {
 public:
  /// Throws UsageError where the text is no JSON document, whatever stands behind it: "not JSON:
  /// …".
  explicit Document(std::string_view text);
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  Node root() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace linkgain::json
