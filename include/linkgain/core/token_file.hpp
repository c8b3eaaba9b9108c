#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace linkgain {

/// A token file whose header is in order: 256 numbers of 32 bits (20240520, 1, count, the rest
/// unused), then `count` tokens of 16 bits, all little-endian.
struct TokenFileStart {
  std::ifstream stream;  ///< stands at the first token
  std::int64_t tokens = 0;
};

/// Opens a token file. Throws UsageError with advice where it cannot be read, is no such file, or
/// is cut off or longer than it says. Of the tokens themselves nothing is read.
TokenFileStart open_token_file(const std::filesystem::path& path);

/// Throws UsageError where `tokens`, those of `path`, hold no sequence of `length` and the token
/// after it.
void require_sequence(const std::filesystem::path& path, std::int64_t tokens, std::int64_t length);

}  // namespace linkgain
