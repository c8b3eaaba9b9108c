#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace linkgain {

/// Text that is no JSON where something was asked of it.
class JsonScanError : public std::runtime_error {
 public:
  JsonScanError(const std::string& what, std::size_t at) : std::runtime_error(what), byte(at) {}
  std::size_t byte = 0;
};

/// Goes through JSON text once, forward, and decodes only what is asked for; the rest is passed
/// over by its brackets and quotes, many times faster than a parser builds it. What is passed over
/// is not checked beyond that. (10,000 records up to their samples, 2.3 GB, on two CPUs: `linkgain
/// fleet` takes 3 s in all. nlohmann's SAX parser, stopped there, takes 10 to 11 s to pass over
/// them, keeping nothing.) The text must outlive the scanner and what it returns. Every
/// function throws JsonScanError where something else than asked for comes next.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  /// For each member of the object that comes next `visit(key)`, which must take or skip() its
  /// value. The key stands as in the text. False ends the scan of the whole text there.
  template <typename Visit>
  bool object(Visit visit) {
    expect('{');
    if (accept('}')) return true;
    do {
      const std::string_view name = raw_string();
      expect(':');
      if (!visit(name)) return false;
    } while (accept(','));
    expect('}');
    return true;
  }

  /// For each item of the array that comes next `visit()`, which must take or skip() it.
  template <typename Visit>
  void array(Visit visit) {
    expect('[');
    if (accept(']')) return;
    do {
      visit();
    } while (accept(','));
    expect(']');
  }

  /// The next value, whatever it is.
  void skip();

  std::string string();
  std::int64_t integer();
  bool boolean();
  /// Absent for null.
  std::optional<double> number_or_null();
  std::optional<std::int64_t> integer_or_null();
  std::optional<bool> boolean_or_null();
  std::optional<std::string> string_or_null();
  /// Whether null comes next; takes it.
  bool null();
  /// Whether an object comes next; takes nothing.
  bool is_object();

 private:
  void skip_blanks();
  void expect(char c);
  bool accept(char c);
  bool accept_word(std::string_view word);
  /// Between its quotes, with escapes as they stand.
  std::string_view raw_string();
  void skip_nested();
  /// A number, true, false or null, whose letters are not checked.
  void skip_plain();
  double number();
  [[noreturn]] void fail(const std::string& wanted) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace linkgain
