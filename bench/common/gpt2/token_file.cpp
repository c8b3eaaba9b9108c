#include "linkgain/gpt2/token_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kHeaderNumbers = 256;
using Header = std::array<std::int32_t, kHeaderNumbers>;

static_assert(std::endian::native == std::endian::little, "token files are read as they are");

const char* const kHowToMake = "make one with scripts/text-to-tokens, or leave --tokens out";

void check_header(const std::string& path, const Header& header, std::uint64_t file_bytes) {
  if (header[0] != kMagic) {
    throw UsageError(
        fmt::format("{} is no token file: its first number is {}, not {}", path, header[0], kMagic),
        kHowToMake);
  }
  if (header[1] != kVersion) {
    throw UsageError(
        fmt::format("{} is a token file of version {}, not {}", path, header[1], kVersion),
        kHowToMake);
  }
  if (header[2] < 2) {
    throw UsageError(fmt::format("{} says that it has {}: a training needs 2 or more", path,
                                 counted(header[2], "token", "tokens")),
                     kHowToMake);
  }
  const auto expected =
      sizeof header + sizeof(std::uint16_t) * static_cast<std::uint64_t>(header[2]);
  if (expected != file_bytes) {
    throw UsageError(fmt::format("{} says that it has {} tokens, which would be {} bytes, but has "
                                 "{} bytes",
                                 path, header[2], expected, file_bytes),
                     "copy it again, or make it anew with scripts/text-to-tokens");
  }
}

}  // namespace

TokenFileStart open_token_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    throw UsageError(fmt::format("{} is a folder, no token file", name), kHowToMake);
  }
  TokenFileStart file;
  // A pipe would be waited for.
  if (std::filesystem::is_regular_file(path, none)) {
    file.stream.open(path, std::ios::binary | std::ios::ate);
  }
  if (!file.stream.is_open() || !file.stream) {
    throw UsageError(fmt::format("cannot read the token file {}", name), kHowToMake);
  }
  const auto bytes = static_cast<std::uint64_t>(std::max<std::streamoff>(file.stream.tellg(), 0));
  file.stream.seekg(0);
  Header header{};
  if (!file.stream.read(reinterpret_cast<char*>(header.data()), sizeof header)) {
    throw UsageError(
        fmt::format("{} is no token file: it has {} bytes, less than the header", name, bytes),
        kHowToMake);
  }
  check_header(name, header, bytes);
  file.tokens = header[2];
  return file;
}

TokenFacts survey_token_file(const std::filesystem::path& path) {
  constexpr std::int64_t kTokensAtOnce = 1 << 16;
  TokenFileStart file = open_token_file(path);
  TokenFacts facts{file.tokens, -1, 0};
  Digest digest;
  std::vector<std::uint16_t> tokens;
  for (std::int64_t place = 0; place < facts.count; place += kTokensAtOnce) {
    tokens.resize(static_cast<std::size_t>(std::min(kTokensAtOnce, facts.count - place)));
    const std::size_t bytes = tokens.size() * sizeof(std::uint16_t);
    if (!file.stream.read(reinterpret_cast<char*>(tokens.data()),
                          static_cast<std::streamsize>(bytes))) {
      throw UsageError(fmt::format("cannot read all of the token file {}", path.string()));
    }
    digest.add({reinterpret_cast<const char*>(tokens.data()), bytes});
    const auto largest = std::ranges::max_element(tokens);
    if (*largest <= facts.largest) continue;
    facts.largest = *largest;
    facts.largest_at = place + (largest - tokens.begin());
  }
  facts.digest = digest.text();
  return facts;
}

void require_known(const std::filesystem::path& path, int token, std::int64_t place,
                   int vocabulary) {
  if (token < vocabulary) return;
  throw UsageError(fmt::format("{} has token {} at place {}: the model knows {} tokens",
                               path.string(), token, place, vocabulary),
                   "take a larger model, or a text with fewer tokens");
}

void require_sequence(const std::filesystem::path& path, std::int64_t tokens, std::int64_t length) {
  if (tokens > length) return;
  throw UsageError(fmt::format("{} has {} tokens: not one sequence of {} and the token after",
                               path.string(), tokens, length),
                   "take shorter sequences (--sequence) or a longer text");
}

}  // namespace linkgain
