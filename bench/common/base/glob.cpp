#include "linkgain/base/glob.hpp"

#include <cstddef>

namespace linkgain {

// A star first takes nothing; where what follows does not fit, the last star takes one character
// more. Going back to earlier stars finds nothing that the last one cannot.
bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t taken = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      after_star = ++at;
      taken = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
      ++at;
      ++in_text;
    } else if (after_star != std::string_view::npos) {
      at = after_star;
      in_text = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace linkgain
