#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"

namespace linkgain::test {

/// What an action is refused with: the message, and the advice on a line of its own after "->";
/// "accepted" where it is not.
template <typename Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    const std::string advice = error.advice().empty() ? "" : "\n-> " + error.advice();
    return error.what() + advice;
  }
  return "accepted";
}

/// The text of a golden: questions at the margin, and indented below them what is answered. Those
/// that follow each other with the same answer share it; a question in quotes is '…' in its own.
class Answers {
 public:
  /// Begins a part.
  void about(std::string_view subject) {
    end_answer();
    text_ += text_.empty() ? "" : "\n";
    text_ += "# " + std::string(subject) + "\n";
  }

  void add(const std::string& question, std::string answer) {
    if (question.starts_with('\'')) replace(answer, question, "'…'");
    replace(answer, "\n", "\n    ");
    if (answer != answer_) end_answer();
    answer_ = answer;
    text_ += question + "\n";
  }

  /// What an action is refused with, which it must be.
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

  /// Holds all of it against the golden of this name.
  void expect_golden(const std::string& name) {
    end_answer();
    test::expect_golden(text_, name);
  }

 private:
  static void replace(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
      text.replace(at, what.size(), by);
    }
  }

  void end_answer() {
    if (!answer_.empty()) text_ += "    " + answer_ + "\n";
    answer_.clear();
  }

  std::string text_;
  std::string answer_;  ///< of the last questions
};

}  // namespace linkgain::test
