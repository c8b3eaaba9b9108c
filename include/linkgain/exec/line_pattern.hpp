#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace linkgain {

/// A regular expression of Perl's kind, by PCRE2: it needs no more stack for a long line, and gives
/// up a search that would take for ever, which then found nothing. For bytes of any encoding.
class LinePattern {
 public:
  /// Throws UsageError that names `option` and the place of what is wrong.
  LinePattern(std::string text, const std::string& option);

  const std::string& text() const { return text_; }
  /// In parentheses that capture.
  int groups() const;

  bool matches(std::string_view line) const;
  /// What the first group holds in each match of the line, left to right, none overlapping.
  void for_each(std::string_view line, const std::function<void(std::string_view)>& use) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace linkgain
