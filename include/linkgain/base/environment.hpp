#pragma once

#include <map>
#include <string>
#include <string_view>

namespace linkgain {

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;

/// Returns the value of a variable, empty where it is not set.
std::string value_of(const Environment& environment, const std::string& name);

/// Returns this process's environment.
Environment current_environment();

/// Returns whether a text begins like VARIABLE=, with a name that a shell takes.
bool is_assignment(std::string_view text);

}  // namespace linkgain
