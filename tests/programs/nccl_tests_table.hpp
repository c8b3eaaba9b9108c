#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "linkgain/nccl_tests/nccl_tests.hpp"

namespace linkgain::test {

/// nccl-tests' text as scripts take it apart: comments, and rows of 13 fields between blanks.
struct NcclTestsTable {
  std::vector<std::string> head;
  std::vector<std::string> lines;  ///< of the rows
  std::vector<NcclTestsRow> rows;
  std::vector<std::string> foot;
};

inline NcclTestsResult parse_nccl_tests_result(std::istringstream& fields) {
  NcclTestsResult result;
  double microseconds = 0.0;
  std::string wrong;
  fields >> microseconds >> result.algorithm_bandwidth_gb_per_s >> result.bus_bandwidth_gb_per_s >>
      wrong;
  result.time = Seconds{microseconds * 1e-6};
  if (wrong != "N/A") result.wrong = std::stoll(wrong);
  return result;
}

/// Throws std::runtime_error where a row has other fields.
inline NcclTestsRow parse_nccl_tests_row(const std::string& line) {
  std::istringstream fields(line);
  NcclTestsRow row;
  fields >> row.size.value >> row.elements >> row.type >> row.reduction >> row.root;
  row.out_of_place = parse_nccl_tests_result(fields);
  row.in_place = parse_nccl_tests_result(fields);
  std::string rest;
  if (!fields || fields >> rest) throw std::runtime_error("no row of nccl-tests: " + line);
  return row;
}

inline NcclTestsTable parse_nccl_tests_table(const std::string& text) {
  NcclTestsTable table;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') {
      (table.rows.empty() ? table.head : table.foot).push_back(line);
    } else {
      table.lines.push_back(line);
      table.rows.push_back(parse_nccl_tests_row(line));
    }
  }
  return table;
}

}  // namespace linkgain::test
