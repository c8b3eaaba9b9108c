#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// Collects what the marks of one table mean; each is explained once, in order of appearance.
class Footnotes {
 public:
  struct Note {
    std::string symbol;
    std::string meaning;
  };

  /// A mark of a fixed meaning.
  std::string mark(const std::string& symbol, const std::string& meaning);

  /// A number for a text of its own; the same text keeps its number.
  std::string number(const std::string& meaning);

  const std::vector<Note>& all() const { return notes_; }

  /// One Markdown item for each, or nothing.
  std::string text() const;

 private:
  std::vector<Note> notes_;
  int numbered_ = 0;
};

}  // namespace linkgain
