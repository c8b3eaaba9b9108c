#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"

/// What a program says in many situations, as one golden text.
namespace linkgain::test {

inline std::string with_replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// Returns what an action is refused with: the text of the Refusal that it throws, and the advice
/// on a line of its own after "->"; "accepted" if it throws none.
template <typename Refusal = UsageError, typename Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const Refusal& error) {
    return error.what() + (error.advice().empty() ? "" : "\n-> " + error.advice());
  }
  return "accepted";
}

/// A line on each situation, or a question, and indented below it what is said then. Those that
/// follow each other with the same answer share it; a question in quotes is '…' in its own. Paths
/// and times that differ between runs must be replaced before.
class Situations {
 public:
  /// Begins a part.
  void about(std::string_view subject) {
    end_answer();
    text_ += text_.empty() ? "" : "\n";
    text_ += "# " + std::string(subject) + "\n";
  }

  void add(const std::string& situation, std::string said) {
    if (situation.starts_with('\'')) said = with_replaced(said, situation, "'…'");
    if (said != said_) end_answer();
    said_ = said;
    text_ += situation + "\n";
  }

  /// Adds what an action is refused with, which it must be.
  template <typename Action>
  void refuse(const std::string& what, const Action& action) {
    const std::string refusal = refusal_of(action);
    EXPECT_NE(refusal, "accepted") << what;
    add(what, refusal);
  }

  template <typename Parse>
  void refuse_each(const std::vector<const char*>& texts, const Parse& parse) {
    for (const char* text : texts) {
      refuse(std::string("'") + text + "'", [&] { parse(text); });
    }
  }

  const std::string& text() {
    end_answer();
    return text_;
  }

  /// Holds all of it against the golden of this name.
  void expect_golden(const std::string& name) { test::expect_golden(text(), name); }

 private:
  void end_answer() {
    std::istringstream lines(said_);
    for (std::string line; std::getline(lines, line);) {
      // The JSON library's words differ by its version.
      for (const std::string_view begin :
           {"[json.exception", "not JSON: The ", "not JSON: Empty"}) {
        const std::size_t library = line.find(begin);
        if (library == std::string::npos) continue;
        line = line.substr(0, library) + "<the JSON library's words>";
      }
      text_ += line.empty() ? "\n" : "    " + line + "\n";
    }
    said_.clear();
  }

  std::string text_;
  std::string said_;  ///< in the last situations
};

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
