#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI

namespace linkgain {

/// Returns the names that an option takes, "--only" with a value "OP,..."; empty where there are
/// others, or where it takes something else.
std::vector<std::string_view> words_of_option(std::string_view option, std::string_view value);

/// Returns words_of_option() of an option as it is declared.
std::vector<std::string> words_of_declared(const CLI::Option& option);

}  // namespace linkgain
