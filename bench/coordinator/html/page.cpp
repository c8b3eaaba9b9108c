#include "linkgain/html/page.hpp"

#include <fmt/format.h>

#include "linkgain/base/build_info.hpp"
#include "linkgain/tables/escaping.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

/// Should any text ever escape its quotes, a browser still fetches and runs nothing.
constexpr const char* kPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

std::string contents(const HtmlPage& page) {
  std::string items;
  for (const HtmlPage::Section& section : page.sections) {
    items +=
        fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, xml_escaped(section.name));
  }
  return fmt::format("<nav aria-label=\"Contents\">\n<ul>\n{}</ul>\n</nav>\n", items);
}

}  // namespace

void HtmlPage::add(std::string_view id, std::string_view name, std::string body) {
  if (!body.empty()) sections.push_back({std::string(id), std::string(name), std::move(body)});
}

std::string html_text(const HtmlPage& page) {
  std::string sections;
  for (const HtmlPage::Section& section : page.sections) {
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}"
        "</section>\n",
        section.id, xml_escaped(section.name), section.body);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"data:,\"/>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n"
      "<h1>{}</h1>\n{}</header>\n{}<main>\n{}</main>\n"
      "<footer><p>Written by linkgain {}. This file needs no network and runs no script.</p>"
      "</footer>\n</body>\n</html>\n",
      kPolicy, xml_escaped(page.title), kPageStyle, xml_escaped(page.title), page.lead,
      contents(page), sections, xml_escaped(build_info().version));
}

std::string scrolling_table(std::string_view caption, std::string_view head, std::string_view body,
                            std::string_view style) {
  return fmt::format(
      "<div class=\"{3}\" role=\"group\" aria-label=\"{0}\" tabindex=\"0\">\n<table>\n"
      "<caption>{0}</caption>\n<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody>\n</table>\n"
      "</div>\n",
      xml_escaped(caption), head, body, style);
}

std::string folded(std::string_view summary, const std::string& html, OnPaper on_paper) {
  if (html.empty()) return {};
  return fmt::format("<details{}>\n<summary>{}</summary>\n{}</details>\n",
                     on_paper == OnPaper::absent ? " class=\"screen\"" : "", xml_escaped(summary),
                     html);
}

std::string figure(const Picture& picture, std::string_view id) {
  constexpr std::size_t kMostRowsOnPaper = 60;
  const std::string& table = picture.table;
  std::size_t rows = 0;
  for (std::size_t at = table.find("<tr"); at != std::string::npos;
       at = table.find("<tr", at + 1)) {
    ++rows;
  }
  std::string drawn = svg_picture(id, picture, picture.content);
  if (!picture.logarithmic.empty()) {
    drawn = "<label class=\"switch\"><input type=\"checkbox\"/> logarithmic</label>\n" + drawn +
            svg_picture(fmt::format("{}-log", id), picture, picture.logarithmic);
  }
  return fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n{}{}</figure>\n", xml_escaped(picture.title), drawn,
      folded("Table", table, rows > kMostRowsOnPaper ? OnPaper::absent : OnPaper::open));
}

std::string figures(const std::vector<Picture>& pictures, std::string_view id) {
  std::string html;
  for (const Picture& picture : pictures) {
    html += figure(picture, fmt::format("{}-{}", id, &picture - pictures.data()));
  }
  return side_by_side(html);
}

std::string side_by_side(const std::string& html) {
  return html.empty() ? "" : fmt::format("<div class=\"figures\">\n{}</div>\n", html);
}

}  // namespace linkgain
