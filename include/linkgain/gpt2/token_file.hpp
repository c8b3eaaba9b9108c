#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

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

/// What decides whether a model can be trained on a file, and what tells it from others.
struct TokenFacts {
  std::int64_t count = 0;
  int largest = 0;
  std::int64_t largest_at = 0;  ///< the first place of it, from 0
  std::string digest{};         ///< of all tokens
};

/// Reads all of a token file. Throws UsageError as open_token_file() does.
TokenFacts survey_token_file(const std::filesystem::path& path);

/// Throws UsageError where a model that knows the tokens below `vocabulary` does not know `token`,
/// which stands at `place` of `path`.
void require_known(const std::filesystem::path& path, int token, std::int64_t place,
                   int vocabulary);

/// Throws UsageError where `tokens`, those of `path`, hold no sequence of `length` and the token
/// after it.
void require_sequence(const std::filesystem::path& path, std::int64_t tokens, std::int64_t length);

}  // namespace linkgain
