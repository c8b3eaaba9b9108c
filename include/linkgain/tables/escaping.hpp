#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Text made harmless for the formats that other programs read. Bytes that are no UTF-8, as the
/// output of a job may hold, become U+FFFD in all of them.
namespace linkgain {

std::string valid_utf8(std::string_view text);

/// Makes one line for a terminal: without its escape sequences and other control characters; tabs
/// and line breaks become spaces.
std::string plain_text(std::string_view text);

/// Gives the bytes without a terminal's escape sequences, as those of colours.
std::string without_escapes(std::string_view text);

/// Escapes for XML 1.0, in an attribute or an element: markup as entities; control characters and
/// noncharacters, which XML cannot hold in any form, as U+FFFD; line breaks kept.
std::string xml_escaped(std::string_view text);

/// Escapes for the value of a label in Prometheus' text format: backslash, quote and line feed.
/// What else acts on a terminal is visible_lines().
std::string prometheus_escaped(std::string_view text);

/// Writes by RFC 4180: fields with separators or quotes are quoted, quotes within them doubled.
/// Line breaks become spaces: a line of text must not begin in a field. What else acts on a
/// terminal is visible(). What a spreadsheet would take for a formula, and GitHub's runners for a
/// command, begins with "'".
std::string csv_field(std::string_view text);

/// Writes the shortest digits that read back as the same number; empty where absent.
std::string csv_field(std::optional<double> value);

/// Writes all digits of what was counted; empty where absent.
template <std::integral Integer>
std::string csv_field(const std::optional<Integer>& value) {
  return value ? std::to_string(*value) : std::string();
}

/// Makes a word for a POSIX shell that stands for exactly `text`, whatever its bytes.
std::string shell_quoted(std::string_view text);

/// Makes a word to be shown and pasted into any POSIX shell, which takes it for exactly `text`:
/// line ends stand in quotes, and what is not visible as "$(printf '\033')".
std::string pasted_word(std::string_view text);

/// Joins such words by blanks.
std::string pasted_command(const std::vector<std::string>& words);

/// Makes a word to be shown, which bash takes for exactly `text`, and other shells where nothing in
/// it is to be made visible: that stands as $'\n', so that the word stays on its line.
std::string shown_word(std::string_view text);

/// Joins such words by blanks.
std::string shown_command(const std::vector<std::string>& words);

/// Shows what `linkgain exec` ran: the command, behind its server if it has one.
std::string shown_program(const std::vector<std::string>& command, const std::string& server);

}  // namespace linkgain
