#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/base/names.hpp"
#include "linkgain/html/picture.hpp"

/// Pieces of inline SVG pictures. Their styles are in style.css.
namespace linkgain {

/// All pictures are as wide, so that text of `kTextHeight` reads alike in all of them: on a phone
/// it is a little smaller than the page's.
inline constexpr double kPictureWidth = 500.0;
inline constexpr double kTextHeight = 13.0;
inline constexpr double kLargestText = 15.5;  ///< on a phone, and in a picture of its own

/// Series of one plot differ in colour, mark and dash; behind so many they repeat.
inline constexpr std::size_t kSeriesStyles = 8;

/// Bounds how wide a text is at most, in a font of this size.
double text_width(std::string_view text, double height = kTextHeight);

/// Cuts the text to what `width` holds.
std::string fitted(std::string_view text, double width, double height = kTextHeight);

/// Makes inline SVG of one of a picture's contents; `id` is unique on the page.
std::string svg_picture(std::string_view id, const Picture& picture, const std::string& content);

/// Lays out what explains the marks of a picture, from the top left corner on.
class Legend {
 public:
  explicit Legend(double top) : y_(top) {}
  /// Adds a sample, drawn from (0, 0) to (kSample, 0), and its name.
  void add(const std::string& sample, std::string_view name);

  static constexpr double kSample = 26.0;
  const std::string& svg() const { return svg_; }
  /// Gives the lower end of the last line; the top where nothing was added.
  double bottom() const { return svg_.empty() ? y_ : y_ + kLine; }

 private:
  static constexpr double kLine = 18.0;
  double x_ = 0.0;
  double y_;
  std::string svg_;
};

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
