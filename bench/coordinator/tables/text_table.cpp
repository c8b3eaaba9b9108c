#include "linkgain/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/tables/markdown_table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(),
                 [](const std::string& cell) { return one_line(cell); });
  rows_.push_back(std::move(cells));
}

std::size_t TextTable::width(std::size_t column) const {
  std::size_t widest = display_width(columns_[column].title);
  for (const std::vector<std::string>& row : rows_) {
    widest = std::max(widest, display_width(row[column]));
  }
  return widest;
}

std::string TextTable::line(const std::vector<std::string>& cells) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool right = columns_[i].alignment == Alignment::right;
    text += right ? fmt::format("  {:>{}}", cells[i], width(i))
                  : fmt::format("  {:<{}}", cells[i], width(i));
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string TextTable::text() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool titled = std::any_of(titles.begin(), titles.end(),
                                  [](const std::string& title) { return !title.empty(); });
  std::string text = titled ? line(titles) : std::string();
  for (const std::vector<std::string>& row : rows_) text += line(row);
  return text;
}

std::string Notes::mark(const std::string& reason) {
  auto known = std::find(reasons_.begin(), reasons_.end(), reason);
  if (known == reasons_.end()) known = reasons_.insert(reasons_.end(), reason);
  return fmt::format("? [{}]", known - reasons_.begin() + 1);
}

std::string Notes::text() const {
  std::string text;
  for (std::size_t i = 0; i < reasons_.size(); ++i) {
    text += fmt::format("  [{}] not known: {}\n", i + 1, one_line(reasons_[i]));
  }
  return text;
}

}  // namespace linkgain
