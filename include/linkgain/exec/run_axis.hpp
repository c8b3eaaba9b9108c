#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// What --axis runs every variant at: {LOAD} stands for each value in turn.
struct RunAxis {
  std::string name;
  std::vector<std::string> values;  ///< numbers in ascending order, else as they were given

  /// Says "LOAD=8" of the value at this place.
  std::string at(int value) const;
};

/// Parses "LOAD=1,8,64". Throws UsageError for a name or value that place_on_axis() refuses, and
/// for a value that is there twice, be it written in two ways.
RunAxis parse_axis(const std::string& text);

}  // namespace linkgain
