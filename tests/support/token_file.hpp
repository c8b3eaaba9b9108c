#pragma once

#include <bit>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace linkgain::test {

static_assert(std::endian::native == std::endian::little, "token files are written as they are");

/// What a token file begins with: magic number, version, and how many tokens there are.
struct TokenFileHeader {
  std::int32_t magic = 20240520;
  std::int32_t version = 1;
  std::int32_t count = 0;
};

/// Writes what `header` says, be it right or wrong, in 256 numbers, and the tokens behind them.
inline void write_token_file(const std::string& path, const TokenFileHeader& header,
                             const std::vector<std::uint16_t>& tokens) {
  std::vector<std::int32_t> numbers(256, 0);
  numbers[0] = header.magic;
  numbers[1] = header.version;
  numbers[2] = header.count;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof numbers[0]));
  file.write(reinterpret_cast<const char*>(tokens.data()),
             static_cast<std::streamsize>(tokens.size() * sizeof tokens[0]));
}

inline void write_token_file(const std::string& path, const std::vector<std::uint16_t>& tokens) {
  write_token_file(path, {.count = static_cast<std::int32_t>(tokens.size())}, tokens);
}

}  // namespace linkgain::test
