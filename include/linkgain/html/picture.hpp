#pragma once

#include <string>

namespace linkgain {

/// A drawing, as wide as all are, before it has its place on a page or in a file.
struct Picture {
  std::string title;
  std::string description;  ///< what a reader who does not see it must know
  double height = 0.0;
  std::string content{};      ///< SVG
  std::string logarithmic{};  ///< the same along a logarithmic axis; empty: there is no such form
  std::string table{};        ///< what is behind it, HTML
};

}  // namespace linkgain
