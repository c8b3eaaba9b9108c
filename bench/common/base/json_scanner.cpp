#include "linkgain/base/json_scanner.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "linkgain/base/json_library.hpp"
#include "linkgain/base/visible_text.hpp"

namespace linkgain {
namespace {

/// What a byte means to somebody who only counts brackets: 1 opens, 2 closes, 3 begins a string.
constexpr std::array<std::uint8_t, 256> kStructure = [] {
  std::array<std::uint8_t, 256> table{};
  table['{'] = table['['] = 1;
  table['}'] = table[']'] = 2;
  table['"'] = 3;
  return table;
}();

/// What ends a number, true, false or null.
constexpr std::array<std::uint8_t, 256> kEndsPlain = [] {
  std::array<std::uint8_t, 256> table{};
  for (const char c : {',', ']', '}', ':', '"', '[', '{', ' ', '\n', '\t', '\r'}) {
    table[static_cast<unsigned char>(c)] = 1;
  }
  return table;
}();

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// One past the closing quote of the string whose first character is at `begin`; npos where it does
/// not end.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin; at < text.size();) {
    const void* quote = std::memchr(text.data() + at, '"', text.size() - at);
    if (quote == nullptr) break;
    const std::size_t end = static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
    std::size_t escapes = 0;
    while (end - escapes > begin && text[end - escapes - 1] == '\\') ++escapes;
    if (escapes % 2 == 0) return end + 1;
    at = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

void JsonScanner::fail(const std::string& wanted) const {
  throw JsonScanError(at_ >= text_.size()
                          ? fmt::format("not JSON: it ends at byte {} before {}", at_, wanted)
                          : fmt::format("not as a record should be: no {} at byte {}", wanted, at_),
                      at_);
}

void JsonScanner::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

void JsonScanner::expect(char c) {
  if (!accept(c)) fail(fmt::format("'{}'", c));
}

bool JsonScanner::accept(char c) {
  skip_blanks();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonScanner::accept_word(std::string_view word) {
  skip_blanks();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

std::string_view JsonScanner::raw_string() {
  expect('"');
  const std::size_t begin = at_;
  const std::size_t end = end_of_string(text_, begin);
  if (end == std::string_view::npos) {
    at_ = text_.size();
    fail("the end of a text");
  }
  at_ = end;
  return text_.substr(begin, end - 1 - begin);
}

void JsonScanner::skip_nested() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const std::uint8_t meaning = kStructure[static_cast<unsigned char>(text_[at_])];
    ++at_;
    if (meaning == 0) continue;
    if (meaning == 1) ++depth;
    if (meaning == 2 && --depth == 0) return;
    if (meaning != 3) continue;
    const std::size_t end = end_of_string(text_, at_);
    at_ = end == std::string_view::npos ? text_.size() : end;
  }
  fail("a closing bracket");
}

void JsonScanner::skip_plain() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && kEndsPlain[static_cast<unsigned char>(text_[at_])] == 0) ++at_;
  if (at_ == begin || at_ == text_.size()) fail("a value");
}

void JsonScanner::skip() {
  skip_blanks();
  if (at_ >= text_.size()) fail("a value");
  const char first = text_[at_];
  if (first == '"') {
    raw_string();
  } else if (first == '{' || first == '[') {
    skip_nested();
  } else {
    skip_plain();
  }
}

std::string JsonScanner::string() {
  const std::string_view raw = raw_string();
  if (raw.find('\\') == std::string_view::npos) return visible_lines(raw);
  try {
    return visible_lines(nlohmann::json::parse(fmt::format("\"{}\"", raw)).get<std::string>());
  } catch (const nlohmann::json::exception&) {
    fail("text");
  }
}

double JsonScanner::number() {
  skip_blanks();
  double value = 0.0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail("number");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

std::int64_t JsonScanner::integer() {
  skip_blanks();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail("whole number");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

bool JsonScanner::boolean() {
  if (accept_word("true")) return true;
  if (!accept_word("false")) fail("true or false");
  return false;
}

bool JsonScanner::null() { return accept_word("null"); }

bool JsonScanner::is_object() {
  skip_blanks();
  return at_ < text_.size() && text_[at_] == '{';
}

std::optional<double> JsonScanner::number_or_null() {
  if (null()) return std::nullopt;
  return number();
}

std::optional<std::int64_t> JsonScanner::integer_or_null() {
  if (null()) return std::nullopt;
  return integer();
}

std::optional<bool> JsonScanner::boolean_or_null() {
  if (null()) return std::nullopt;
  return boolean();
}

std::optional<std::string> JsonScanner::string_or_null() {
  if (null()) return std::nullopt;
  return string();
}

}  // namespace linkgain
