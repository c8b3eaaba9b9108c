#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// Collects what the marks of one table mean; each is explained once, in order of appearance.
class Footnotes {
 public:
  /// A mark of a fixed meaning.
  std::string mark(const std::string& symbol, const std::string& meaning);

  /// A number for a text of its own; the same text keeps its number.
  std::string number(const std::string& meaning);

  /// One item for each, or nothing.
  std::string text() const;

 private:
  struct Note {
    std::string symbol;
    std::string meaning;
  };
  std::vector<Note> notes_;
  int numbered_ = 0;
};

}  // namespace linkgain
