#include "linkgain/model/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <utility>
#include <vector>

#include "kernels/model_random.hpp"
#include "linkgain/core/errors.hpp"

namespace linkgain {
namespace {

constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kHeaderNumbers = 256;
using Header = std::array<std::int32_t, kHeaderNumbers>;

static_assert(std::endian::native == std::endian::little, "token files are read as they are");

const char* const kHowToMake = "make one with scripts/text-to-tokens, or leave --tokens out";

class TokenFile : public TokenSource {
 public:
  TokenFile(std::string path, std::vector<std::uint16_t> tokens)
      : path_(std::move(path)), tokens_(std::move(tokens)) {}

 private:
  void do_read_sequence(std::int64_t sequence, std::span<std::int32_t> tokens) const override {
    const auto length = static_cast<std::int64_t>(tokens.size()) - 1;
    const std::int64_t sequences = (static_cast<std::int64_t>(tokens_.size()) - 1) / length;
    if (sequences < 1) {
      throw UsageError(fmt::format("{} has {} tokens: not one sequence of {} and the token after",
                                   path_, tokens_.size(), length),
                       "take shorter sequences or a longer text");
    }
    const auto begin = tokens_.begin() + sequence % sequences * length;
    std::copy_n(begin, tokens.size(), tokens.begin());
  }

  std::string do_description() const override {
    return fmt::format("{}, {} tokens", path_, tokens_.size());
  }

  std::string path_;
  std::vector<std::uint16_t> tokens_;
};

class GeneratedTokens : public TokenSource {
 public:
  GeneratedTokens(int vocabulary, std::uint64_t seed)
      : sequence_{seed, kernels::kTokenPurpose, 0, 0} {
    double sum = 0.0;
    for (int k = 1; k <= vocabulary; ++k) {
      sum += 1.0 / k;
      cumulative_.push_back(sum);
    }
  }

 private:
  void do_read_sequence(std::int64_t sequence, std::span<std::int32_t> tokens) const override {
    const auto length = static_cast<std::int64_t>(tokens.size()) - 1;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = token_at(static_cast<std::uint64_t>(sequence * length) + i);
    }
  }

  std::string do_description() const override { return "generated (Zipf)"; }

  std::int32_t token_at(std::uint64_t place) const {
    const double uniform = kernels::random_word(sequence_, place) / 4294967296.0;
    const auto found =
        std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, uniform * cumulative_.back());
    return static_cast<std::int32_t>(found - cumulative_.begin());
  }

  kernels::RandomSequence sequence_;
  std::vector<double> cumulative_;
};

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
  const auto expected =
      sizeof header +
      sizeof(std::uint16_t) * static_cast<std::uint64_t>(static_cast<std::uint32_t>(header[2]));
  if (header[2] < 2 || expected != file_bytes) {
    throw UsageError(fmt::format("{} says that it has {} tokens, which would be {} bytes, but has "
                                 "{} bytes",
                                 path, header[2], expected, file_bytes),
                     "copy it again, or make it anew with scripts/text-to-tokens");
  }
}

void check_tokens(const std::string& path, std::span<const std::uint16_t> tokens, int vocabulary) {
  const auto found = std::ranges::find_if(tokens, [&](int token) { return token >= vocabulary; });
  if (found == tokens.end()) return;
  throw UsageError(fmt::format("{} has token {} at place {}: the model knows {} tokens", path,
                               *found, found - tokens.begin(), vocabulary),
                   "take a larger model, or a text with fewer tokens");
}

}  // namespace

std::unique_ptr<TokenSource> read_token_file(const std::string& path, int vocabulary) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) throw UsageError(fmt::format("cannot read the token file {}", path), kHowToMake);
  const auto file_bytes = static_cast<std::uint64_t>(std::max<std::streamoff>(stream.tellg(), 0));
  stream.seekg(0);
  Header header{};
  if (!stream.read(reinterpret_cast<char*>(header.data()), sizeof header)) {
    throw UsageError(
        fmt::format("{} is no token file: it has {} bytes, less than the header", path, file_bytes),
        kHowToMake);
  }
  check_header(path, header, file_bytes);
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(header[2]));
  if (!stream.read(reinterpret_cast<char*>(tokens.data()),
                   static_cast<std::streamsize>(tokens.size() * sizeof(std::uint16_t)))) {
    throw UsageError(fmt::format("cannot read all of the token file {}", path));
  }
  check_tokens(path, tokens, vocabulary);
  return std::make_unique<TokenFile>(path, std::move(tokens));
}

std::unique_ptr<TokenSource> generated_tokens(int vocabulary, std::uint64_t seed) {
  return std::make_unique<GeneratedTokens>(vocabulary, seed);
}

void read_batch(const TokenSource& source, const BatchPlace& place, const BatchShape& shape,
                std::span<std::int32_t> tokens) {
  const auto row = static_cast<std::size_t>(shape.length) + 1;
  for (int sample = 0; sample < shape.samples; ++sample) {
    source.read_sequence(place.first_sequence(shape.samples) + sample,
                         tokens.subspan(static_cast<std::size_t>(sample) * row, row));
  }
}

}  // namespace linkgain
