#include "linkgain/tables/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kReadableColumns = 100;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// When a column is left out, in ascending order; 0: never.
int leave_out_of(const std::string& title, std::size_t column, std::size_t columns) {
  static constexpr std::array<std::string_view, 3> kFirst{"Less time", "NVLink %", "95 % CI"};
  if (column == 0 || title == "Speed-up") return 0;
  const auto named = std::ranges::find(kFirst, title);
  if (named != kFirst.end()) return static_cast<int>(named - kFirst.begin()) + 1;
  return static_cast<int>(kFirst.size() + columns - column);
}

std::vector<std::string> plain_cells(std::string_view line) {
  std::vector<std::string> cells = markdown_cells(line);
  for (std::string& cell : cells) cell = without_marks(cell);
  return cells;
}

std::string table_text(const std::vector<std::string>& lines, std::size_t columns) {
  const std::vector<std::string> titles = plain_cells(lines[0]);
  const std::vector<std::string> rules = plain_cells(lines[1]);
  std::vector<Table::Column> table_columns;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const bool right = rules[i].ends_with(':');
    table_columns.push_back({titles[i], right ? Table::Alignment::right : Table::Alignment::left,
                             false, leave_out_of(titles[i], i, titles.size())});
  }
  Table table(table_columns);
  for (std::size_t i = 2; i < lines.size(); ++i) table.add_row(plain_cells(lines[i]));
  return table.text(columns, Table::FirstColumn::cut);
}

std::string line_text(const std::string& line, std::size_t columns) {
  if (line.starts_with('#')) {
    return trimmed(line.substr(line.find_first_not_of('#'))) + "\n";
  }
  const std::size_t indent = line.find_first_not_of(' ');
  const bool item = indent != std::string::npos && line.substr(indent).starts_with("- ");
  const std::size_t lead = item ? indent + 2 : 0;
  return hanging(line.substr(0, lead), without_marks(line.substr(lead)),
                 std::min(columns, kReadableColumns));
}

}  // namespace

std::string without_marks(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    if (text.substr(i).starts_with("**")) {
      ++i;
      continue;
    }
    plain += text[i];
  }
  return text_of_markdown(plain);
}

std::vector<std::string> markdown_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line.substr(i).starts_with("\\|")) {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  cells.pop_back();
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

std::string terminal_text(const std::string& markdown, std::size_t columns) {
  std::string text;
  std::vector<std::string> table;
  bool verbatim = false;
  for (const std::string& line : split(markdown, '\n')) {
    if (line.starts_with('|')) {
      table.push_back(line);
      continue;
    }
    if (!table.empty()) text += table_text(std::exchange(table, {}), columns);
    if (line.starts_with("```")) {
      verbatim = !verbatim;
    } else {
      text += line.empty() || verbatim ? line + "\n" : line_text(line, columns);
    }
  }
  text.pop_back();  // of what split() finds behind the last line's end
  return text;
}

}  // namespace linkgain
