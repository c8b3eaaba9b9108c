#include "linkgain/tables/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {

Text::Text(Run run) {
  if (!run.text.empty()) runs_.push_back(std::move(run));
}

Text& Text::operator+=(const Text& more) {
  for (const Run& run : more.runs_) {
    const bool alike = !runs_.empty() && runs_.back().form == run.form && run.form != Form::code &&
                       runs_.back().tone == run.tone;
    if (alike) {
      runs_.back().text += run.text;
    } else {
      runs_.push_back(run);
    }
  }
  return *this;
}

std::string Text::plain() const {
  std::string text;
  for (const Run& run : runs_) text += run.text;
  return text;
}

Text strong(std::string text) { return Text::Run{std::move(text), Text::Form::strong}; }
Text code(std::string text) { return Text::Run{std::move(text), Text::Form::code}; }
Text toned(std::string text, Tone tone) {
  return Text::Run{std::move(text), Text::Form::plain, tone};
}

Text with_code(std::string_view sentence) {
  Text text;
  while (!sentence.empty()) {
    const std::size_t begin = sentence.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : sentence.find('`', begin + 1);
    if (end == std::string_view::npos) return text + sentence;
    text += sentence.substr(0, begin);
    text += code(std::string(sentence.substr(begin + 1, end - begin - 1)));
    sentence.remove_prefix(end + 1);
  }
  return text;
}

void append_cells(Cells& cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

void Table::add_row(Cells cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void leave_out_from_the_right(std::vector<Table::Column>& columns) {
  int place = 0;
  for (const Table::Column& column : columns) place = std::max(place, column.leave_out);
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    const bool stays = column + 1 == columns.rend() || column->title == "Speed-up";
    if (column->leave_out == 0 && !stays) column->leave_out = ++place;
  }
  columns.front().too_long = Table::TooLong::cut;
}

bool Table::is_left_out(std::size_t column) const {
  const Column& own = columns_[column];
  return (own.needs_values || own.too_long == TooLong::below) &&
         std::ranges::all_of(rows_, [&](const Cells& row) { return row[column].empty(); });
}

std::string Footnotes::mark(const std::string& symbol, const std::string& meaning) {
  if (std::ranges::find(notes_, symbol, &Note::symbol) == notes_.end()) {
    notes_.push_back({symbol, meaning});
  }
  return symbol;
}

std::string Footnotes::number(const std::string& meaning) {
  const auto known = std::ranges::find(notes_, meaning, &Note::meaning);
  if (known != notes_.end()) return known->symbol;
  notes_.push_back({fmt::format("({})", ++numbered_), meaning});
  return notes_.back().symbol;
}

std::string Footnotes::unknown(const std::string& reason) {
  const std::string meaning = "not known: " + reason;
  number(meaning);
  std::string& symbol = std::ranges::find(notes_, meaning, &Note::meaning)->symbol;
  symbol.front() = '[';
  symbol.back() = ']';
  return "? " + symbol;
}

void Document::item(Item item) {
  if (blocks_.empty() || !std::holds_alternative<List>(blocks_.back())) {
    blocks_.emplace_back(List{});
  }
  std::get<List>(blocks_.back()).items.push_back(std::move(item));
}

void Document::notes(const Footnotes& footnotes) {
  for (const auto& [symbol, meaning] : footnotes.all()) {
    item(linkgain::code(symbol) + " " + with_code(meaning));
  }
}

void Document::code(std::string lines) { blocks_.emplace_back(Code{std::move(lines)}); }

void Document::figure(std::string html) {
  if (!html.empty()) blocks_.emplace_back(Figure{std::move(html)});
}

void Document::add(const Document& more) {
  blocks_.insert(blocks_.end(), more.blocks_.begin(), more.blocks_.end());
}

}  // namespace linkgain
