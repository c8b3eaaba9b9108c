#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// What shells show on TAB: scripts/completions ask the programs for it.
namespace linkgain {

/// The option that asks for it, before all others; --help does not show it.
inline constexpr const char* kCompletionOption = "--complete";

/// The words that an option's value can be, if they are few enough to be named; else empty.
using WordsOf = std::function<std::vector<std::string>(const CLI::Option& option)>;

/// Lists, a line each, what can stand in the place of the last of `words`, which may be empty: a
/// word, with its help behind a tab if it has one; ":files" or ":folders" where such can. Of
/// "--option=value" it is the value, and of a list with commas the whole of it.
std::string completions(const CLI::App& program, std::vector<std::string> words,
                        const WordsOf& words_of);

/// Returns the names that an option takes, "--only" with a value "OP,..."; empty where there are
/// others, or where it takes something else.
std::vector<std::string_view> words_of_option(std::string_view option, std::string_view value);

/// Returns words_of_option() of an option as it is declared.
std::vector<std::string> words_of_declared(const CLI::Option& option);

}  // namespace linkgain
