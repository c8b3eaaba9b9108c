#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI

namespace linkgain {

/// The names that an option takes, "--only" with a value "OP,..."; empty where there are others, or
/// where it takes something else.
std::vector<std::string> words_of_option(std::string_view option, std::string_view value);

/// Where a word stands among those of an option. Throws UsageError with the words there are.
std::size_t place_of_word(std::string_view word, std::string_view option, std::string_view value);

/// words_of_option() of one as it is declared.
std::vector<std::string> words_of_declared(const CLI::Option& option);

}  // namespace linkgain
