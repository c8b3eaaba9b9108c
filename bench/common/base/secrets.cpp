#include "linkgain/base/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// An option whose value is a secret: its last word is key, token, password or secret.
bool is_secret_option(std::string_view name) {
  if (!name.starts_with("--")) return false;
  const std::string_view last = name.substr(name.find_last_of("-_") + 1);
  static constexpr std::array<std::string_view, 4> kWords{"key", "token", "password", "secret"};
  return std::ranges::find(kWords, last) != kWords.end();
}

/// Where the value that begins at `begin` ends: as a shell's word, parts of it in quotes, at one of
/// these characters. What begins with a quote that is not closed is all of the rest.
std::size_t end_of_value(std::string_view text, std::size_t begin, std::string_view separators) {
  std::size_t place = begin;
  while (place < text.size() && separators.find(text[place]) == std::string_view::npos) {
    const bool quote = text[place] == '\'' || text[place] == '"';
    const std::size_t closing = quote ? text.find(text[place], place + 1) : place;
    if (closing == std::string_view::npos && place == begin) return text.size();
    place = (closing == std::string_view::npos ? place : closing) + 1;
  }
  return place;
}

/// A command in one text, with the values of secret options masked.
std::string without_option_values(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t option = text.find("--"); option != std::string_view::npos;
       option = text.find("--", done)) {
    std::size_t end = option + 2;
    while (end < text.size() && (is_name_character(text[end]) || text[end] == '-')) ++end;
    result += text.substr(done, end - done);
    done = end;
    if (!is_secret_option(text.substr(option, end - option))) continue;
    const std::size_t value = text.find_first_not_of(text.substr(end, 1) == "=" ? "=" : " \t", end);
    if (value == end || value == std::string_view::npos || text.substr(value, 2) == "--") continue;
    const std::size_t value_end = end_of_value(text, value, " \t\n;&|");
    if (value_end == value) continue;
    result += text.substr(end, value - end);
    result += kMasked;
    done = value_end;
  }
  return result += text.substr(done);
}

/// A variant as the command line has it, name:VARIABLE=value,…, whose values may hold commas and
/// blanks.
std::string variant_without_secrets(std::string_view text) {
  const std::size_t parts = text.find(':') + 1;
  std::string result(text.substr(0, parts));
  bool hides = false;
  for (const std::string& part : split(text.substr(parts), ',')) {
    const bool begins = is_assignment(part);
    if (hides && !begins) continue;
    const std::size_t value = part.find('=') + 1;
    hides = begins && value < part.size() && is_secret(part.substr(0, value - 1));
    if (result.size() > parts) result += ',';
    result += hides ? part.substr(0, value) + std::string(kMasked) : part;
  }
  return result;
}

enum class OptionValue { plain, variant, secret };

OptionValue value_of_option(std::string_view option) {
  if (option == "--variant") return OptionValue::variant;
  return is_secret_option(option) ? OptionValue::secret : OptionValue::plain;
}

std::string masked(OptionValue kind, std::string_view value) {
  return kind == OptionValue::variant ? variant_without_secrets(value) : std::string(kMasked);
}

}  // namespace

bool is_secret(std::string_view variable) {
  const std::string name = upper(variable);
  static constexpr std::array<std::string_view, 4> kWords{"TOKEN", "SECRET", "PASS", "KEY"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

Environment without_secrets(Environment environment) {
  for (auto& [name, value] : environment) {
    if (is_secret(name)) value = kMasked;
  }
  return environment;
}

std::string without_secrets(std::string_view given) {
  const std::string text = without_option_values(given);
  std::string result;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (is_name_character(text[i])) {
      name += text[i];
      continue;
    }
    // Options, as --max_tokens=8, are in small letters.
    const bool variable =
        text[i] == '=' && is_secret(name) && (name == upper(name) || name.starts_with("OMPI_MCA_"));
    name.clear();
    if (!variable) continue;
    const std::size_t end = end_of_value(text, i + 1, ", \t\n;&|");
    if (end > i + 1) result += kMasked;
    i = end - 1;
  }
  return result;
}

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  OptionValue awaited = OptionValue::plain;
  for (std::string& word : words) {
    if (awaited != OptionValue::plain && !word.starts_with("--")) {
      word = masked(awaited, word);
      awaited = OptionValue::plain;
      continue;
    }
    const std::size_t equals = word.find('=');
    const OptionValue kind = value_of_option(std::string_view(word).substr(0, equals));
    awaited = equals == std::string::npos ? kind : OptionValue::plain;
    word = kind == OptionValue::plain || equals == std::string::npos
               ? without_secrets(word)
               : word.substr(0, equals + 1) + masked(kind, word.substr(equals + 1));
  }
  return words;
}

}  // namespace linkgain
