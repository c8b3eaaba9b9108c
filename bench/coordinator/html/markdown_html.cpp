#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "linkgain/base/text.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/terminal_text.hpp"

namespace linkgain {
namespace {

/// Of Markdown without marks.
std::string text_html(std::string_view markdown) { return xml_escaped(text_of_markdown(markdown)); }

/// May break behind each slash, so that a name of a case in a narrow column keeps its words.
std::string with_breaks(const std::string& html) {
  return fmt::format("{}", fmt::join(split(html, '/'), "/<wbr/>"));
}

/// `code` and **strong words**; a mark without its other half is text.
std::string inline_html(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kMarks[] = {{"`", "code"},
                                                                             {"**", "strong"}};
  std::string html;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    bool found = false;
    for (const auto& [mark, name] : kMarks) {
      if (!text.substr(i).starts_with(mark)) continue;
      const std::size_t end = text.find(mark, i + mark.size());
      if (end == std::string_view::npos || end == i + mark.size()) continue;
      const std::string marked =
          with_breaks(xml_escaped(text.substr(i + mark.size(), end - i - mark.size())));
      html += fmt::format("{}<{}>{}</{}>", text_html(text.substr(begin, i - begin)), name, marked,
                          name);
      i = begin = end + mark.size();
      found = true;
      break;
    }
    if (!found) ++i;
  }
  return html + text_html(text.substr(begin));
}

/// Turns lines into elements, one block after the other.
class Reader {
 public:
  Reader(std::string_view markdown, std::string_view caption)
      : lines_(split(markdown, '\n')), caption_(caption) {}

  std::string html() {
    while (place_ < lines_.size()) {
      const std::string& line = lines_[place_];
      if (line.starts_with('|')) {
        add_table();
      } else if (line.starts_with("```")) {
        add_code();
      } else if (line.starts_with("- ")) {
        add_list();
      } else if (line.starts_with('#')) {
        add_heading();
      } else {
        add_paragraph();
      }
    }
    end_paragraph();
    return html_;
  }

 private:
  bool at(std::string_view start) const {
    return place_ < lines_.size() && lines_[place_].starts_with(start);
  }

  void end_paragraph() {
    if (!paragraph_.empty()) {
      html_ += fmt::format("<p>{}</p>\n", inline_html(std::exchange(paragraph_, {})));
    }
  }

  /// Kept until the next block, for it may be the caption of a table.
  void add_paragraph() {
    const std::string& line = lines_[place_++];
    if (line.empty()) return;
    end_paragraph();
    paragraph_ = line;
  }

  void add_heading() {
    end_paragraph();
    const std::string& line = lines_[place_++];
    const std::size_t level = line.find_first_not_of('#');
    if (level == std::string::npos) return;
    const std::string title = line.substr(line.find_first_not_of(' ', level));
    caption_ = without_marks(title);
    html_ += fmt::format("<h{0}>{1}</h{0}>\n", level, inline_html(title));
  }

  void add_code() {
    end_paragraph();
    std::string code;
    for (++place_; place_ < lines_.size() && !at("```"); ++place_) code += lines_[place_] + "\n";
    ++place_;
    html_ += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", xml_escaped(code));
  }

  void add_list() {
    end_paragraph();
    html_ += "<ul>\n";
    while (at("- ")) {
      html_ += "<li>" + inline_html(lines_[place_++].substr(2));
      while (at("  ") && !at("  - ")) {
        html_ += "<br/>" + inline_html(lines_[place_++].substr(2));
      }
      if (at("  - ")) {
        html_ += "\n<ul>\n";
        while (at("  - ")) {
          html_ += fmt::format("<li>{}</li>\n", inline_html(lines_[place_++].substr(4)));
        }
        html_ += "</ul>\n";
      }
      html_ += "</li>\n";
    }
    html_ += "</ul>\n";
  }

  void add_table() {
    HtmlTable table{.caption = caption_};
    if (paragraph_.ends_with(':')) {
      paragraph_.pop_back();
      table.caption = without_marks(std::exchange(paragraph_, {}));
    }
    end_paragraph();
    for (const std::string& title : markdown_cells(lines_[place_++])) {
      table.columns.push_back({without_marks(title)});
    }
    const std::vector<std::string> rules = markdown_cells(lines_[place_++]);
    for (std::size_t i = 0; i < rules.size() && i < table.columns.size(); ++i) {
      table.columns[i].right = rules[i].ends_with(':');
    }
    for (; at("|"); ++place_) {
      std::vector<std::string>& row = table.rows.emplace_back();
      for (const std::string& cell : markdown_cells(lines_[place_])) {
        row.push_back(inline_html(cell));
      }
    }
    html_ += html_text(table);
  }

  std::vector<std::string> lines_;
  std::string caption_;
  std::size_t place_ = 0;
  std::string paragraph_;
  std::string html_;
};

/// "What changed" as "what-changed".
std::string id_of(std::string_view name) {
  std::string id;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || (c >= 'A' && c <= 'Z')) {
      id += letter ? c : static_cast<char>(c - 'A' + 'a');
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  return id;
}

}  // namespace

std::string html_of_markdown(std::string_view markdown, std::string_view caption) {
  return Reader(markdown, caption).html();
}

HtmlPage page_of_markdown(std::string_view markdown) {
  HtmlPage page;
  std::string body;
  const auto end_section = [&] {
    if (page.sections.empty()) {
      page.lead = html_of_markdown(body, page.title);
    } else {
      page.sections.back().body = html_of_markdown(body, page.sections.back().name);
    }
    body.clear();
  };
  for (const std::string& line : split(markdown, '\n')) {
    if (line.starts_with("# ")) {
      page.title = without_marks(line.substr(2));
    } else if (line.starts_with("## ")) {
      end_section();
      const std::string name = without_marks(line.substr(3));
      page.sections.push_back({id_of(name), name, {}});
    } else {
      body += line + "\n";
    }
  }
  end_section();
  return page;
}

}  // namespace linkgain
