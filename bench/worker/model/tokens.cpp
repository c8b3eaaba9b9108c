#include "linkgain/model/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/random/model_random.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpt2/token_file.hpp"

namespace linkgain {
namespace {

class TokenFile : public TokenSource {
 public:
  TokenFile(std::string path, std::vector<std::uint16_t> tokens)
      : path_(std::move(path)), tokens_(std::move(tokens)) {}

 private:
  void do_read_sequence(std::int64_t sequence, std::span<std::int32_t> tokens) const override {
    const auto length = static_cast<std::int64_t>(tokens.size()) - 1;
    require_sequence(path_, static_cast<std::int64_t>(tokens_.size()), length);
    const std::int64_t sequences = (static_cast<std::int64_t>(tokens_.size()) - 1) / length;
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

void check_tokens(const std::string& path, std::span<const std::uint16_t> tokens, int vocabulary) {
  const auto found = std::ranges::find_if(tokens, [&](int token) { return token >= vocabulary; });
  if (found == tokens.end()) return;
  require_known(path, *found, found - tokens.begin(), vocabulary);
}

}  // namespace

std::unique_ptr<TokenSource> read_token_file(const std::string& path, int vocabulary) {
  TokenFileStart file = open_token_file(path);
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(file.tokens));
  if (!file.stream.read(reinterpret_cast<char*>(tokens.data()),
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

void take_apart(std::span<const std::int32_t> tokens, const BatchShape& shape, int vocabulary,
                std::int32_t* inputs, std::int32_t* targets) {
  const auto row = static_cast<std::size_t>(shape.length) + 1;
  if (tokens.size() != row * static_cast<std::size_t>(shape.samples)) {
    throw std::logic_error("a batch of another shape");
  }
  const auto is_wrong = [&](std::int32_t token) { return token < 0 || token >= vocabulary; };
  if (std::ranges::any_of(tokens, is_wrong)) {
    throw UsageError(fmt::format("a token is not in 0 ... {}", vocabulary - 1),
                     "take tokens of the model's vocabulary");
  }
  for (std::size_t begin = 0; begin < tokens.size(); begin += row) {
    const auto sample = tokens.subspan(begin, row);
    inputs = std::copy(sample.begin(), sample.end() - 1, inputs);
    targets = std::copy(sample.begin() + 1, sample.end(), targets);
  }
}

}  // namespace linkgain
