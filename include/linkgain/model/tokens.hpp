#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

/// A text as token numbers, cut into sequences.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Writes the tokens of one sequence and the one that follows it, tokens.size() in all. Sequence
  /// i begins where i - 1 ended; sources of limited size begin anew when they are used up.
  void read_sequence(std::int64_t sequence, std::span<std::int32_t> tokens) const {
    do_read_sequence(sequence, tokens);
  }

  /// Describes the source for reports: "tokens.bin, 338,025 tokens" or "generated (Zipf)".
  std::string description() const { return do_description(); }

 private:
  virtual void do_read_sequence(std::int64_t sequence, std::span<std::int32_t> tokens) const = 0;
  virtual std::string do_description() const = 0;
};

/// Reads a token file (core's open_token_file() says what that is) into memory. Throws UsageError
/// with advice where it is none, or has tokens from `vocabulary` on.
std::unique_ptr<TokenSource> read_token_file(const std::string& path, int vocabulary);

/// Makes tokens without end by Zipf's law, the k-th with a probability in proportion to 1 / (k +
/// 1), each independent of the others and a function of (seed, place in the text).
std::unique_ptr<TokenSource> generated_tokens(int vocabulary, std::uint64_t seed);

/// Which part of the text a rank computes in a step.
struct BatchPlace {
  std::int64_t step = 0;  ///< from 0
  int rank = 0;
  int ranks = 1;

  /// Returns the number of the rank's first sequence, counted over all ranks and steps.
  std::int64_t first_sequence(int samples) const { return (step * ranks + rank) * samples; }
};

/// Writes shape.samples rows of shape.length + 1 tokens: inputs are the first shape.length of a
/// row, targets the last shape.length. Ranks take turns, so that `ranks` ranks of B sequences
/// together have what one rank of ranks * B has.
void read_batch(const TokenSource& source, const BatchPlace& place, const BatchShape& shape,
                std::span<std::int32_t> tokens);

/// Takes rows of length + 1 tokens apart: `inputs` (shape.tokens() of them) get the first of each
/// row, `targets` the last. Throws std::logic_error where `tokens` is not of that shape, UsageError
/// for a token that the vocabulary lacks; then nothing was written.
void take_apart(std::span<const std::int32_t> tokens, const BatchShape& shape, int vocabulary,
                std::int32_t* inputs, std::int32_t* targets);

}  // namespace linkgain
