#pragma once

#include <gtest/gtest.h>

#include <any>
#include <string>
#include <vector>

#include "bench/programs/linkgain/subcommand.hpp"
#include "linkgain/base/errors.hpp"

/// What `linkgain` makes of a command line.
namespace linkgain::test {

inline Request parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "linkgain");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

/// Parses `first` and then `arguments`, which make options of a subcommand.
template <typename Options>
Options options_of(std::vector<std::string> first, const std::vector<std::string>& arguments = {}) {
  first.insert(first.end(), arguments.begin(), arguments.end());
  return std::any_cast<Options>(parse(first).options);
}

inline std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  return "accepted";
}

}  // namespace linkgain::test
