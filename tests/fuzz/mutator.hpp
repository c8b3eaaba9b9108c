#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain::fuzz {

/// Makes new inputs of a corpus: bits and bytes changed, parts left out, doubled or exchanged,
/// words and numbers replaced by others of the corpus or by extreme ones, two inputs joined. The
/// same seed and corpus give the same inputs in the same order, as far as the same ones are kept.
class Mutator {
 public:
  /// No input becomes longer than this.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;

  Mutator(std::vector<std::string> corpus, std::uint64_t seed);

  std::string next();
  /// Has later inputs made of this one, too: of one that its reader took.
  void keep(const std::string& input);

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  const std::string& any_input() { return inputs_[below(inputs_.size())]; }
  std::string any_word();
  void mutate(std::string& input);
  void change_byte(std::string& input);
  void change_part(std::string& input);
  void change_word(std::string& input);
  void move_member(std::string& input);

  std::size_t originals_;
  std::vector<std::string> inputs_;
  std::vector<std::string> words_;
  std::mt19937_64 random_;
};

/// Splits a text into its words, numbers, blanks and single marks, in order and all of them.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace linkgain::fuzz
