#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"

namespace linkgain {

/// Whether a line matches is not known: the search took too many steps. What tells why is PCRE2's.
class SearchGivenUp : public MachineError {
 public:
  explicit SearchGivenUp(const std::string& why)
      : MachineError("the search of a line was given up: " + why) {}
};

/// A regular expression of Perl's kind, by PCRE2: it needs no more of the thread's stack for a long
/// line, and gives up a search that would take for ever. For bytes of any encoding. It is looked
/// for in what a terminal would show: colours, which some programs write into pipes too, are left
/// out.
class LinePattern {
 public:
  /// Throws UsageError that names `option` and the place of what is wrong.
  LinePattern(std::string text, const std::string& option);

  const std::string& text() const { return text_; }
  /// Counts the parentheses that capture.
  int groups() const;

  /// Throws SearchGivenUp, as for_each() does.
  bool matches(std::string_view line) const;
  /// Gives what the first group holds in each match of the line, left to right, none overlapping.
  void for_each(std::string_view line, const std::function<void(std::string_view)>& use) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace linkgain
