#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace linkgain::fuzz {

/// A fuzz target of this program.
struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

/// Returns all of them; CMakeLists.txt writes the table.
std::span<const Target> targets();

}  // namespace linkgain::fuzz
