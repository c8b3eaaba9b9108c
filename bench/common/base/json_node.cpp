#include "linkgain/base/json_node.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <bit>

#include "linkgain/base/errors.hpp"

namespace linkgain::json {
namespace {

namespace dom = simdjson::dom;
using Reference = std::array<std::uintptr_t, 2>;

dom::element element_of(const Reference& reference) {
  return std::bit_cast<dom::element>(reference);
}

bool take(const dom::element& item, double& value) { return item.get(value) == simdjson::SUCCESS; }

bool take(const dom::element& item, std::int64_t& value) {
  return item.get(value) == simdjson::SUCCESS;
}

bool take(const dom::element& item, std::uint64_t& value) {
  return item.get(value) == simdjson::SUCCESS;
}

bool take(const dom::element& item, int& value) {
  std::int64_t wide = 0;
  if (!take(item, wide) || !std::in_range<int>(wide)) return false;
  value = static_cast<int>(wide);
  return true;
}

template <typename T>
bool take(const dom::element& item, std::optional<T>& value) {
  return item.is_null() || take(item, value.emplace());
}

/// Parsers whose documents are gone: their memory, a multiple of a record's, is touched once.
template <typename Parser>
std::vector<std::unique_ptr<Parser>>& free_parsers() {
  thread_local std::vector<std::unique_ptr<Parser>> parsers;
  return parsers;
}

template <typename Parser>
std::unique_ptr<Parser> take_parser() {
  auto& parsers = free_parsers<Parser>();
  if (parsers.empty()) return std::make_unique<Parser>();
  std::unique_ptr<Parser> parser = std::move(parsers.back());
  parsers.pop_back();
  return parser;
}

/// Tells an object without its end, as a crash leaves it, from what is no JSON at all.
bool is_cut_off(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos || text[first] != '{') return false;
  return text[text.find_last_not_of(kSpace)] != '}';
}

}  // namespace

Node::Kind Node::kind() const {
  switch (element_of(reference_).type()) {
    case dom::element_type::ARRAY:
      return Kind::array;
    case dom::element_type::OBJECT:
      return Kind::object;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
      return Kind::whole;
    case dom::element_type::DOUBLE:
      return Kind::number;
    case dom::element_type::STRING:
      return Kind::text;
    case dom::element_type::BOOL:
      return Kind::boolean;
    case dom::element_type::NULL_VALUE:
      return Kind::null;
  }
  return Kind::null;
}

bool Node::boolean() const { return element_of(reference_).get_bool().value(); }

double Node::number() const { return element_of(reference_).get_double().value(); }

std::string_view Node::text() const { return element_of(reference_).get_string().value(); }

bool Node::holds(std::int64_t& value) const {
  return element_of(reference_).get_int64().get(value) == simdjson::SUCCESS;
}

bool Node::holds(std::uint64_t& value) const {
  return element_of(reference_).get_uint64().get(value) == simdjson::SUCCESS;
}

std::size_t Node::size() const {
  const dom::element element = element_of(reference_);
  return element.is_array() ? element.get_array().value().size()
                            : element.get_object().value().size();
}

template <typename T>
void Node::append_numbers_to(std::vector<T>& values) const {
  const dom::array items = element_of(reference_).get_array().value();
  for (const dom::element item : items) {
    T value{};
    if (!take(item, value)) return;
    values.push_back(value);
  }
}

template void Node::append_numbers_to(std::vector<int>&) const;
template void Node::append_numbers_to(std::vector<std::int64_t>&) const;
template void Node::append_numbers_to(std::vector<double>&) const;
template void Node::append_numbers_to(std::vector<std::optional<int>>&) const;
template void Node::append_numbers_to(std::vector<std::optional<std::uint64_t>>&) const;
template void Node::append_numbers_to(std::vector<std::optional<double>>&) const;

std::optional<Node> Node::find(std::string_view key) const {
  dom::element found;
  const dom::object object = element_of(reference_).get_object().value();
  if (object.at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return Node(std::bit_cast<Reference>(found));
}

Items::Items(const Node& array)
    : at_(std::bit_cast<Reference>(element_of(array.reference_).get_array().value().begin())),
      end_(std::bit_cast<Reference>(element_of(array.reference_).get_array().value().end())) {}

std::optional<Node> Items::next() {
  if (at_ == end_) return std::nullopt;
  auto here = std::bit_cast<dom::array::iterator>(at_);
  const Node item(std::bit_cast<Reference>(*here));
  at_ = std::bit_cast<Reference>(++here);
  return item;
}

Members::Members(const Node& object)
    : at_(std::bit_cast<Reference>(element_of(object.reference_).get_object().value().begin())),
      end_(std::bit_cast<Reference>(element_of(object.reference_).get_object().value().end())) {}

std::optional<std::pair<std::string_view, Node>> Members::next() {
  if (at_ == end_) return std::nullopt;
  auto here = std::bit_cast<dom::object::iterator>(at_);
  const std::pair member(here.key(), Node(std::bit_cast<Reference>(here.value())));
  at_ = std::bit_cast<Reference>(++here);
  return member;
}

struct Document::Parser {
  dom::parser parser;
  dom::element root;
};

Document::Document(std::string_view text) : parser_(take_parser<Parser>()) {
  const auto problem = parser_->parser.parse(text.data(), text.size()).get(parser_->root);
  if (problem == simdjson::SUCCESS) return;
  if (is_cut_off(text)) throw UsageError("not JSON: it is cut off");
  throw UsageError(fmt::format("not JSON: {}", simdjson::error_message(problem)));
}

Document::~Document() {
  if (parser_) free_parsers<Parser>().push_back(std::move(parser_));
}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Node Document::root() const { return Node(std::bit_cast<Reference>(parser_->root)); }

}  // namespace linkgain::json
