#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"

/// For tests of how selections become cases.
namespace linkgain::test {

inline std::vector<std::string> names_of(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const Case& c : cases) names.push_back(case_name(c));
  return names;
}

inline Selection of(OperationKind operation, std::string_view sizes) {
  Selection selection;
  selection.operations = {operation};
  selection.sizes = parse_sizes(sizes);
  return selection;
}

}  // namespace linkgain::test
