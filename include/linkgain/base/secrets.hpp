#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

/// What a record keeps of variables and command lines, in files that others may read.
namespace linkgain {

/// What hides a secret.
inline constexpr std::string_view kMasked = "***";

/// Whether a variable is one that holds a secret: TOKEN, SECRET, PASS or KEY is in its name, in
/// letters of either case.
bool is_secret(std::string_view variable);

/// The variables with the values of secret ones masked.
Environment without_secrets(Environment environment);

/// The words with what they hold of secrets masked: the value behind an assignment to a secret
/// variable in capitals, or of Open MPI's, in or after a word, and that of options such as
/// --api-key and --token, which may be words of a command that is one text. In a word that is
/// --variant's, every secret variable's.
std::vector<std::string> without_secrets(std::vector<std::string> words);
std::string without_secrets(std::string_view text);

}  // namespace linkgain
