#include "linkgain/base/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

bool is_quote(char c) { return c == '\'' || c == '"'; }

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Finds the last part of a name in capitals; parts are split at _ - . and before a capital that
/// follows a small letter. Numbers at the end count for nothing.
std::string last_part(std::string_view name) {
  name = name.substr(0, name.find_last_not_of("0123456789_-.") + 1);
  std::size_t begin = name.find_last_of("_-.") + 1;
  for (std::size_t i = begin + 1; i < name.size(); ++i) {
    const bool before = std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (before && std::isupper(static_cast<unsigned char>(name[i])) != 0) begin = i;
  }
  return upper(name.substr(begin));
}

/// Tells HTTP's header, also as -HAuthorization, whose value is of more than one word.
bool is_authorization(std::string_view name) { return upper(name).ends_with("AUTHORIZATION"); }

/// What is hidden, and what it was.
using Found = std::vector<std::string>;

std::string_view hidden(std::string_view value, Found& found) {
  found.emplace_back(value);
  return kMasked;
}

bool is_escaped_blank(std::string_view text) {
  return text.starts_with("\\ ") || text.starts_with("\\\t") || text.starts_with("\\\n");
}

/// Returns where a blank, or a line that a backslash continues, is followed by something else.
std::size_t behind_blanks(std::string_view text, std::size_t place, std::string_view blanks) {
  while (place < text.size()) {
    if (text.substr(place).starts_with("\\\n")) {
      place += 2;
    } else if (blanks.find(text[place]) != std::string_view::npos) {
      ++place;
    } else {
      return place;
    }
  }
  return std::string_view::npos;
}

/// Returns where the value that begins at `begin` ends: as a shell's word, parts of it in quotes,
/// at one of these characters. What begins with a quote that is not closed is all of the rest.
std::size_t end_of_value(std::string_view text, std::size_t begin, std::string_view separators) {
  std::size_t place = begin;
  while (place < text.size() && separators.find(text[place]) == std::string_view::npos) {
    if (is_escaped_blank(text.substr(place))) {
      place = std::min(place + 2, text.size());
      continue;
    }
    const std::size_t closing = is_quote(text[place]) ? text.find(text[place], place + 1) : place;
    if (closing == std::string_view::npos && place == begin) return text.size();
    place = (closing == std::string_view::npos ? place : closing) + 1;
  }
  return place;
}

/// Returns where the value of a line as `Authorization: Bearer VALUE` ends: at the end of the
/// quotes around it, or of the line.
std::size_t end_of_line(std::string_view text, std::size_t name, std::size_t begin) {
  const bool is_in_quotes = name > 0 && is_quote(text[name - 1]);
  return std::min(text.find(is_in_quotes ? text[name - 1] : '\n', begin), text.size());
}

struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the value of the name that is there; empty where it has none.
Part value_behind(std::string_view text, Part name) {
  const bool is_option = text[name.begin] == '-';
  const std::size_t quote = text.find_first_not_of('\\', name.end);
  const bool is_quoted = quote != std::string_view::npos && is_quote(text[quote]);
  const std::string_view blanks = is_quoted ? " \t\n" : " \t";
  const std::size_t sign = is_quoted ? behind_blanks(text, quote + 1, blanks) : name.end;
  if (sign >= text.size()) return {};
  const bool is_assigned = text[sign] == '=' || text[sign] == ':';
  std::size_t begin = is_assigned ? sign + 1 : sign;
  if (is_quoted || text[sign] != '=') begin = behind_blanks(text, begin, blanks);
  if (begin >= text.size()) return {};
  const bool is_next_word = is_option && begin > name.end && text.substr(begin, 2) != "--";
  if (!is_assigned && !is_next_word) return {};
  const bool is_line = text[sign] == ':' && (!is_option || begin > sign + 1);
  if (!is_quoted && (is_line || is_authorization(text.substr(name.begin, name.end - name.begin)))) {
    return {begin, end_of_line(text, name.begin, begin)};
  }
  std::string separators = " \t\n;&|";
  if (!is_option) separators += ',';
  if (is_quoted) separators += "}]";
  return {begin, end_of_value(text, begin, separators)};
}

/// Returns the password of the URL whose "://" is there, of scheme://user:password@host; empty
/// where it has none.
Part password_of_url(std::string_view text, std::size_t scheme_end) {
  const std::size_t begin = scheme_end + 3;
  const std::size_t end = std::min(text.find_first_of("/?# \t\n'\"", begin), text.size());
  const std::size_t host = text.substr(0, end).rfind('@');
  const std::size_t sign = text.find(':', begin);
  if (host == std::string_view::npos || host < begin || sign >= host) return {};
  return {sign + 1, host};
}

std::string without_passwords_of_urls(std::string text, Found& found) {
  for (std::size_t place = text.find("://"); place != std::string::npos;
       place = text.find("://", place + 3)) {
    const Part password = password_of_url(text, place);
    if (password.begin < password.end) {
      const std::size_t length = password.end - password.begin;
      hidden(std::string_view(text).substr(password.begin, length), found);
      text.replace(password.begin, length, kMasked);
    }
  }
  return text;
}

/// Masks a variant as the command line has it, name:VARIABLE=value,…, whose values may hold commas
/// and blanks.
std::string variant_without_secrets(std::string_view text, Found& found) {
  const std::size_t parts = text.find(':') + 1;
  std::string result(text.substr(0, parts));
  bool hides = false;
  for (const std::string& part : split(text.substr(parts), ',')) {
    const bool begins = is_assignment(part);
    if (hides && !begins) {
      found.back() += ',' + part;
      continue;
    }
    const std::size_t value = part.find('=') + 1;
    hides = begins && value < part.size() && is_secret(part.substr(0, value - 1));
    if (result.size() > parts) result += ',';
    if (hides) {
      result.append(part, 0, value).append(hidden(std::string_view(part).substr(value), found));
    } else {
      result += without_passwords_of_urls(part, found);
    }
  }
  return result;
}

enum class OptionValue { plain, variant, secret };

OptionValue value_of_option(std::string_view option) {
  if (option == "--variant") return OptionValue::variant;
  const bool is_name = option.starts_with('-') && std::ranges::all_of(option, is_name_character);
  return is_name && is_secret(option) ? OptionValue::secret : OptionValue::plain;
}

std::string masked(OptionValue kind, std::string_view value, Found& found) {
  return kind == OptionValue::variant ? variant_without_secrets(value, found)
                                      : std::string(hidden(value, found));
}

Environment mask(Environment environment, Found& found) {
  for (auto& [name, value] : environment) {
    value = is_secret(name) ? std::string(hidden(value, found))
                            : without_passwords_of_urls(value, found);
  }
  return environment;
}

std::string mask(std::string_view command, Found& found) {
  const std::string own = without_passwords_of_urls(std::string(command), found);
  const std::string_view text = own;
  std::string result;
  std::size_t done = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const std::size_t begin = place;
    while (place < text.size() && is_name_character(text[place])) ++place;
    if (!is_secret(text.substr(begin, place - begin))) continue;
    const Part value = value_behind(text, {begin, place});
    if (value.begin == value.end) continue;
    result += text.substr(done, value.begin - done);
    result += hidden(text.substr(value.begin, value.end - value.begin), found);
    done = place = value.end;
  }
  return result += text.substr(done);
}

std::vector<std::string> mask(std::vector<std::string> words, Found& found) {
  OptionValue awaited = OptionValue::plain;
  for (std::string& word : words) {
    if (awaited != OptionValue::plain && !word.starts_with("--")) {
      word = masked(awaited, word, found);
      awaited = OptionValue::plain;
      continue;
    }
    const std::size_t sign = word.find_first_of("=:");
    const OptionValue kind = value_of_option(std::string_view(word).substr(0, sign));
    awaited = sign == std::string::npos ? kind : OptionValue::plain;
    word = kind == OptionValue::plain || sign == std::string::npos
               ? mask(std::string_view(word), found)
               : word.substr(0, sign + 1) + masked(kind, word.substr(sign + 1), found);
  }
  return words;
}

/// Returns the text as the program gets it from a shell.
std::string unquoted(std::string_view text) {
  std::string result;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (is_quote(text[place])) continue;
    if (is_escaped_blank(text.substr(place)) && text[++place] == '\n') continue;
    result += text[place];
  }
  return result;
}

}  // namespace

bool is_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kLastParts{
      "KEY",      "APIKEY",     "TOKEN",  "SECRET",  "PASS",     "PASSWD",
      "PASSWORD", "PASSPHRASE", "BEARER", "SECRETS", "PASSWORDS"};
  static constexpr std::array<std::string_view, 5> kNames{
      "AWS_ACCESS_KEY_ID", "MYSQL_PWD", "PGPASSWORD", "SECRET_KEY_BASE", "SSHPASS"};
  return is_authorization(name) || std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::find(kLastParts, last_part(name)) != kLastParts.end();
}

Environment without_secrets(Environment environment) {
  Found ignored;
  return mask(std::move(environment), ignored);
}

std::string without_secrets(std::string_view command) {
  Found ignored;
  return mask(command, ignored);
}

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  Found ignored;
  return mask(std::move(words), ignored);
}

void KnownSecrets::add(const Environment& environment) {
  Found found;
  mask(environment, found);
  keep(found);
}

void KnownSecrets::add(std::string_view command) {
  Found found;
  mask(command, found);
  keep(found);
}

void KnownSecrets::add(const std::vector<std::string>& words) {
  Found found;
  mask(words, found);
  keep(found);
}

void KnownSecrets::keep(const std::vector<std::string>& values) {
  for (const std::string& each : values) {
    const std::string value = unquoted(each);
    // A header has "Bearer VALUE".
    for (const std::string& part : {value, value.substr(value.find_last_of(" \t") + 1)}) {
      if (part.size() >= kShortest && !part.starts_with('$')) values_.insert(part);
    }
  }
}

std::string KnownSecrets::masked(std::string text) const {
  for (const std::string& value : values_) {
    for (std::size_t place = text.find(value); place != std::string::npos;
         place = text.find(value, place + kMasked.size())) {
      text.replace(place, value.size(), kMasked);
    }
  }
  return text;
}

}  // namespace linkgain
