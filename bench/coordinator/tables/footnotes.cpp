#include "linkgain/tables/footnotes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {

std::string Footnotes::mark(const std::string& symbol, const std::string& meaning) {
  const auto known = std::find_if(notes_.begin(), notes_.end(),
                                  [&](const Note& note) { return note.symbol == symbol; });
  if (known == notes_.end()) {
    notes_.push_back({symbol, meaning});
  }
  return symbol;
}

std::string Footnotes::number(const std::string& meaning) {
  const auto known = std::find_if(notes_.begin(), notes_.end(),
                                  [&](const Note& note) { return note.meaning == meaning; });
  if (known != notes_.end()) {
    return known->symbol;
  }
  notes_.push_back({fmt::format("({})", ++numbered_), meaning});
  return notes_.back().symbol;
}

std::string Footnotes::text() const {
  std::string result;
  for (const Note& note : notes_) {
    result += fmt::format("- `{}` {}\n", note.symbol, note.meaning);
  }
  return result;
}

}  // namespace linkgain
