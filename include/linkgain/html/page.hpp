#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/html/picture.hpp"
#include "linkgain/tables/document.hpp"

/// A page that stands alone: one file, nothing fetched, no script, readable by a screen reader, on
/// paper, in the dark and on a phone.
namespace linkgain {

struct HtmlPage {
  struct Section {
    std::string id;    ///< unique on the page
    std::string name;  ///< plain text
    std::string body;  ///< HTML
  };

  std::string title;   ///< plain text
  std::string lead{};  ///< HTML below the title
  std::vector<Section> sections{};

  /// Adds a section, and nothing where the body is empty.
  void add(std::string_view id, std::string_view name, std::string body);
};

/// Writes the page, well-formed as XML, too.
std::string html_text(const HtmlPage& page);

/// The style sheet of every picture, picture.css, and that of every page, which begins with it.
extern const std::string_view kPictureStyle;
extern const std::string_view kPageStyle;

/// Writes HTML. A table without a caption has the heading above it for one, else `caption`.
std::string to_html(const Document& document, std::string_view caption = {});
std::string to_html(const Table& table, std::string_view caption = {});

/// Makes a page: the document's title is its title, what follows its lead, and each heading of the
/// second level begins a section.
HtmlPage page_of(const Document& document);

/// Makes a table in a box of its own, which scrolls where the page is too narrow: `head` is the
/// cells of its first row, `body` its rows, both HTML; the caption is plain text.
std::string scrolling_table(std::string_view caption, std::string_view head, std::string_view body,
                            std::string_view style = "scroll");

/// Whether what is folded stands open on paper.
enum class OnPaper { open, absent };

/// Hides what a reader opens to see.
std::string folded(std::string_view summary, const std::string& html,
                   OnPaper on_paper = OnPaper::open);

/// Shows a picture below its title, with a switch to its logarithmic form, and the table behind it,
/// which is left out on paper where it would fill pages. `id` is unique on the page.
std::string figure(const Picture& picture, std::string_view id);

/// Shows pictures side by side as far as there is room; empty where there is none.
std::string figures(const std::vector<Picture>& pictures, std::string_view id);

/// Puts what is HTML side by side as figures() does.
std::string side_by_side(const std::string& html);

}  // namespace linkgain
