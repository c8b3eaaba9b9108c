#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/base/names.hpp"

/// Pieces of inline SVG pictures. Their styles are in style.css.
namespace linkgain {

/// All pictures are as wide, so that text of `kTextHeight` reads alike in all of them: on a phone
/// it is a little smaller than the page's.
inline constexpr double kPictureWidth = 460.0;
inline constexpr double kTextHeight = 13.0;

/// Series of one plot differ in colour, mark and dash; behind so many they repeat.
inline constexpr std::size_t kSeriesStyles = 8;

/// Bounds how wide a text is at most, in a font of this size.
double text_width(std::string_view text, double height = kTextHeight);

/// Cuts the text to what `width` holds.
std::string fitted(std::string_view text, double width, double height = kTextHeight);

/// Makes a picture of kPictureWidth with its title and description; `id` is unique on the page.
std::string svg_picture(std::string_view id, std::string_view title, std::string_view description,
                        double height, const std::string& content);

enum class Anchor { start, middle, end };

template <>
inline constexpr auto kNames<Anchor> = names<Anchor>("anchor", {{Anchor::start, "start"},
                                                                {Anchor::middle, "middle"},
                                                                {Anchor::end, "end"}});

std::string svg_text(double x, double y, Anchor anchor, std::string_view text,
                     std::string_view style = "");
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view style);

/// Draws the mark of a style, a shape of its own; `title` is shown when a pointer rests on it.
std::string svg_mark(double x, double y, std::size_t style, std::string_view title = "");

}  // namespace linkgain
