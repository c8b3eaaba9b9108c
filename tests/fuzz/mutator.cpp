#include "mutator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace linkgain::fuzz {
namespace {

constexpr std::size_t kMostKept = 256;
constexpr std::size_t kMostChanges = 4;  ///< of one input

using namespace std::string_view_literals;

/// What readers stumble over in many formats.
constexpr std::array kExtremes{""sv,
                               "0"sv,
                               "-0"sv,
                               "-1"sv,
                               "1"sv,
                               "0.5"sv,
                               "-0.5"sv,
                               "1e308"sv,
                               "-1e308"sv,
                               "1e400"sv,
                               "5e-324"sv,
                               "1e-400"sv,
                               "127"sv,
                               "256"sv,
                               "65536"sv,
                               "2147483647"sv,
                               "2147483648"sv,
                               "-2147483648"sv,
                               "-2147483649"sv,
                               "4294967296"sv,
                               "9007199254740993"sv,
                               "9223372036854775807"sv,
                               "9223372036854775808"sv,
                               "-9223372036854775808"sv,
                               "-9223372036854775809"sv,
                               "18446744073709551615"sv,
                               "18446744073709551616"sv,
                               "nan"sv,
                               "inf"sv,
                               "-inf"sv,
                               "0x10"sv,
                               "1_000"sv,
                               "1,000"sv,
                               "null"sv,
                               "true"sv,
                               "false"sv,
                               "{}"sv,
                               "[]"sv,
                               "\"\""sv,
                               "[[[[[[[[[[[[[[[["sv,
                               "\"\\u0000\""sv,
                               "\"\\ud800\""sv,
                               "\xef\xbb\xbf"sv,
                               "\xff"sv,
                               "\xe2\x80\xae"sv,
                               "\x1b[2J"sv,
                               "\0"sv,
                               "\r\n"sv,
                               "\t"sv,
                               "../.."sv,
                               "%s%n"sv,
                               "{0}"sv};

int kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isdigit(byte) != 0 || c == '.') return 1;
  if (std::isalpha(byte) != 0 || c == '_') return 2;
  return std::isspace(byte) != 0 ? 3 : 0;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const int kind = kind_of(text.front());
    std::size_t length = 1;
    while (kind != 0 && length < text.size() && kind_of(text[length]) == kind) ++length;
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return words;
}

Mutator::Mutator(std::vector<std::string> corpus, std::uint64_t seed)
    : originals_(corpus.size()), inputs_(std::move(corpus)), random_(seed) {
  if (inputs_.empty()) inputs_.emplace_back();
  std::set<std::string_view> words;
  for (const std::string& input : inputs_) {
    for (const std::string_view word : words_of(input)) words.insert(word);
  }
  words_.assign(words.begin(), words.end());
}

void Mutator::keep(const std::string& input) {
  if (inputs_.size() < originals_ + kMostKept) {
    inputs_.push_back(input);
  } else {
    inputs_[originals_ + below(kMostKept)] = input;
  }
}

std::string Mutator::any_word() {
  if (words_.empty() || below(3) == 0) return std::string(kExtremes[below(kExtremes.size())]);
  if (below(64) == 0) return std::string(300 + below(8000), 'x');
  return words_[below(words_.size())];
}

void Mutator::change_byte(std::string& input) {
  const std::size_t place = below(input.size());
  if (below(2) == 0) {
    input[place] = static_cast<char>(input[place] ^ (1 << below(8)));
  } else {
    input[place] = static_cast<char>(random_() & 0xff);
  }
}

void Mutator::change_part(std::string& input) {
  const std::size_t begin = below(input.size());
  const std::size_t length =
      1 +
      below(below(4) == 0 ? input.size() - begin : std::min<std::size_t>(input.size() - begin, 16));
  if (below(2) == 0) {
    input.erase(begin, length);
  } else {
    input.insert(below(input.size()), input.substr(begin, length));
  }
}

void Mutator::change_word(std::string& input) {
  const std::vector<std::string_view> words = words_of(input);
  std::string_view word = words[below(words.size())];
  // Mostly a number or a name: without its marks a text is mostly none of its format.
  for (int tries = 0; tries < 8 && kind_of(word.front()) % 3 == 0; ++tries) {
    word = words[below(words.size())];
  }
  const auto place = static_cast<std::size_t>(word.data() - input.data());
  const std::size_t length = word.size();
  if (below(4) == 0) {
    input.insert(place, any_word());
  } else {
    input.replace(place, length, any_word());
  }
}

/// Drops, doubles or moves a line, or what stands between two commas.
void Mutator::move_member(std::string& input) {
  const char mark = below(2) == 0 ? ',' : '\n';
  std::vector<std::size_t> marks;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == mark) marks.push_back(i);
  }
  if (marks.size() < 2) return change_part(input);
  const std::size_t first = below(marks.size() - 1);
  const std::string member = input.substr(marks[first], marks[first + 1] - marks[first]);
  const std::size_t target = marks[below(marks.size())];
  if (below(2) == 0) {
    input.erase(marks[first], member.size());
  } else {
    input.insert(target, member);
  }
}

void Mutator::mutate(std::string& input) {
  if (input.empty()) {
    input = any_word();
    return;
  }
  switch (below(8)) {
    case 0:
      return change_byte(input);
    case 1:
      return change_part(input);
    case 2:
      return move_member(input);
    case 3: {
      const std::string& other = any_input();
      input = input.substr(0, below(input.size() + 1)) + other.substr(below(other.size() + 1));
      return;
    }
    default:
      return change_word(input);
  }
}

std::string Mutator::next() {
  std::string input = any_input();
  for (std::size_t changes = 1 + below(1 + below(kMostChanges)); changes > 0; --changes)
    mutate(input);
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

}  // namespace linkgain::fuzz
