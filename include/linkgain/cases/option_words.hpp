#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// The names that an option takes, "--only" with a value "OP,..."; empty where there are others, or
/// where it takes something else.
std::vector<std::string> words_of_option(std::string_view option, std::string_view value);

}  // namespace linkgain
