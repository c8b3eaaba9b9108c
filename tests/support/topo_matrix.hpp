#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "program.hpp"

/// The matrices of `nvidia-smi topo -m` and of `linkgain topo`, to be compared with each other.
namespace linkgain::test {

/// Rows "GPU0" and "NIC0" of a matrix by device, the header under "".
using Matrix = std::map<std::string, std::vector<std::string>>;

inline std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  const std::size_t end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

/// Splits lines at the separators up to the first line after the matrix. Cells that are empty at a
/// row's end are left out.
inline Matrix matrix_of(const std::string& text, const std::regex& separator) {
  const std::regex escape("\033\\[[0-9;]*m");
  Matrix matrix;
  for (const std::string& line : lines_of(std::regex_replace(text, escape, ""))) {
    std::vector<std::string> cells;
    for (std::sregex_token_iterator each(line.begin(), line.end(), separator, -1), end; each != end;
         ++each) {
      cells.push_back(trimmed(*each));
    }
    while (!cells.empty() && cells.back().empty()) cells.pop_back();
    if (cells.size() < 2) {
      if (!matrix.empty()) break;
      continue;
    }
    const bool header = cells.front().empty() && cells[1].starts_with("GPU");
    if (!header && matrix.empty()) continue;
    const std::string name = cells.front();
    cells.erase(cells.begin());
    matrix.emplace(header ? "" : name, cells);
  }
  return matrix;
}

/// Keeps the columns that both have: devices, CPU and NUMA affinity.
inline Matrix without_later_columns(Matrix matrix) {
  const std::vector<std::string>& header = matrix.at("");
  const auto last = std::ranges::find(header, "NUMA Affinity");
  const auto columns = static_cast<std::size_t>(last - header.begin()) + 1;
  for (auto& [name, cells] : matrix) {
    if (cells.size() > columns) cells.resize(columns);
  }
  return matrix;
}

/// Reads that of `nvidia-smi topo -m`.
inline Matrix their_matrix(const std::string& text) {
  return without_later_columns(matrix_of(text, std::regex("\t")));
}

/// Reads that of `linkgain topo`.
inline Matrix our_matrix(const std::string& text) {
  const std::string unindented = std::regex_replace(text, std::regex("(^|\n)  "), "$1");
  return matrix_of(unindented, std::regex("  +"));
}

}  // namespace linkgain::test
