#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

/// Command lines: how they are taken apart, filled in and shown.
namespace linkgain {

/// The words of a text as a POSIX shell takes it apart, with its quotes and backslashes, but
/// without expanding anything. Throws UsageError, which names `option`, for a quote without end.
std::vector<std::string> split_words(std::string_view text, const std::string& option);

/// What stands in a command for what differs from run to run.
struct Placeholders {
  std::string variant;
  int round = 0;
  std::vector<std::string> arguments{};  ///< for {args}
};

/// `{variant}`, `{round}` and `{args}` replaced, all other braces left alone. A word that is {args}
/// becomes as many words as there are; within a word they stand quoted for a shell.
std::vector<std::string> filled_in(const std::vector<std::string>& words,
                                   const Placeholders& placeholders);
/// Whether {args} stands somewhere in them.
bool places_arguments(const std::vector<std::string>& words);
/// The same in a text, where {args} stands quoted for a shell.
std::string filled_in(std::string_view text, const Placeholders& placeholders);

/// The words quoted for a shell, one blank between them.
std::string command_line(const std::vector<std::string>& words);

/// What hides a secret.
inline constexpr std::string_view kMasked = "***";

/// Whether a variable is one that holds a secret: TOKEN, SECRET, PASSWORD or KEY is in its name, in
/// letters of either case.
bool is_secret(std::string_view variable);

/// The variables with the values of secret ones masked.
Environment without_secrets(Environment environment);

/// The words with what they hold of secrets masked: the value behind an assignment to a secret
/// variable in capitals, in or after a word, and that of options such as --api-key and --token.
std::vector<std::string> without_secrets(std::vector<std::string> words);
std::string without_secrets(std::string_view text);

}  // namespace linkgain
