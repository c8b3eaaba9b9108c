#include "linkgain/exec/command_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kArguments = "{args}";

/// Takes one text apart.
class WordReader {
 public:
  WordReader(std::string_view text, const std::string& option) : text_(text), option_(option) {}

  std::vector<std::string> read() {
    while (next_ < text_.size()) read_character();
    if (begun_) words_.push_back(word_);
    return words_;
  }

 private:
  void read_character() {
    const char c = text_[next_++];
    if (c == ' ' || c == '\t' || c == '\n') {
      if (begun_) words_.push_back(std::exchange(word_, {}));
      begun_ = false;
      return;
    }
    begun_ = true;
    if (c == '\'' || c == '"') {
      read_quoted(c);
    } else if (c == '\\') {
      require_more();
      word_ += text_[next_++];
    } else {
      word_ += c;
    }
  }

  void read_quoted(char quote) {
    for (require_more(); text_[next_] != quote; require_more()) {
      const bool escape = quote == '"' && text_[next_] == '\\' && next_ + 1 < text_.size() &&
                          std::string_view("\"\\$`").find(text_[next_ + 1]) != std::string::npos;
      if (escape) ++next_;
      word_ += text_[next_++];
    }
    ++next_;
  }

  void require_more() const {
    if (next_ < text_.size()) return;
    throw UsageError(
        fmt::format("{} '{}': a quote or backslash at the end stands for nothing", option_, text_));
  }

  std::string_view text_;
  const std::string& option_;
  std::size_t next_ = 0;
  std::string word_;
  bool begun_ = false;
  std::vector<std::string> words_;
};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// An option whose value is a secret: its last word is key, token, password or secret.
bool is_secret_option(std::string_view name) {
  if (!name.starts_with("--")) return false;
  const std::string_view last = name.substr(name.find_last_of("-_") + 1);
  static constexpr std::array<std::string_view, 4> kWords{"key", "token", "password", "secret"};
  return std::ranges::find(kWords, last) != kWords.end();
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, const std::string& option) {
  return WordReader(text, option).read();
}

std::string filled_in(std::string_view text, const Placeholders& placeholders) {
  const std::array<std::pair<std::string_view, std::string>, 3> known{
      {{"{variant}", placeholders.variant},
       {"{round}", fmt::to_string(placeholders.round)},
       {kArguments, command_line(placeholders.arguments)}}};
  std::string result;
  while (!text.empty()) {
    const auto* const match =
        std::ranges::find_if(known, [&](const auto& each) { return text.starts_with(each.first); });
    if (match == known.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += match->second;
      text.remove_prefix(match->first.size());
    }
  }
  return result;
}

std::vector<std::string> filled_in(const std::vector<std::string>& words,
                                   const Placeholders& placeholders) {
  std::vector<std::string> result;
  const std::vector<std::string>& arguments = placeholders.arguments;
  for (const std::string& word : words) {
    if (word == kArguments) {
      result.insert(result.end(), arguments.begin(), arguments.end());
    } else {
      result.push_back(filled_in(word, placeholders));
    }
  }
  return result;
}

bool places_arguments(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word.find(kArguments) != std::string::npos; });
}

std::string command_line(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

bool is_secret(std::string_view variable) {
  const std::string name = upper(variable);
  static constexpr std::array<std::string_view, 4> kWords{"TOKEN", "SECRET", "PASSWORD", "KEY"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

Environment without_secrets(Environment environment) {
  for (auto& [name, value] : environment) {
    if (is_secret(name)) value = kMasked;
  }
  return environment;
}

std::string without_secrets(std::string_view text) {
  std::string result;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (is_name_character(text[i])) {
      name += text[i];
      continue;
    }
    // Options, as --max_tokens=8, are in small letters.
    const bool variable = text[i] == '=' && !name.empty() && name == upper(name) && is_secret(name);
    name.clear();
    if (!variable) continue;
    const std::size_t end = std::min(text.find_first_of(", \t\n;&|", i), text.size());
    if (end > i + 1) result += kMasked;
    i = end - 1;
  }
  return result;
}

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  bool is_value = false;
  for (std::string& word : words) {
    if (is_value && !word.starts_with("--")) {
      word = kMasked;
      is_value = false;
      continue;
    }
    is_value = is_secret_option(word);
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && is_secret_option(std::string_view(word).substr(0, equals))) {
      word = word.substr(0, equals + 1) + std::string(kMasked);
    } else {
      word = without_secrets(word);
    }
  }
  return words;
}

}  // namespace linkgain
