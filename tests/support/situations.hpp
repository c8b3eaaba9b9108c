#pragma once

#include <sstream>
#include <string>

/// What a program says in many situations, as one golden text.
namespace linkgain::test {

/// A line on each situation and, indented below it, what is said then. Paths and times that differ
/// between runs must be replaced before.
class Situations {
 public:
  void add(const std::string& situation, const std::string& said) {
    text_ += situation + "\n";
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      // The JSON library's words differ by its version.
      const std::size_t library = line.find("[json.exception");
      if (library != std::string::npos)
        line = line.substr(0, library) + "<the JSON library's words>";
      text_ += line.empty() ? "\n" : "    " + line + "\n";
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The text of the Error that `call` throws, and on a line of its own its advice; "accepted" where
/// it throws none.
template <typename Error, typename Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what() + (error.advice().empty() ? "" : "\nAdvice: " + error.advice());
  }
  return "accepted";
}

inline std::string with_replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// Headings, sentences and items of a Markdown text.
inline std::string without_tables(const std::string& markdown) {
  std::string kept;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '|') kept += line + "\n";
  }
  return kept;
}

}  // namespace linkgain::test
