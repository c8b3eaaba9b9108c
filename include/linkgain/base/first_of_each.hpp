#pragma once

#include <set>
#include <vector>

namespace linkgain {

/// Keeps the first of elements that are equal, and their order. Takes n log n comparisons.
template <typename T>
void keep_first_of_each(std::vector<T>& all) {
  std::set<T> seen;
  std::erase_if(all, [&](const T& each) { return !seen.insert(each).second; });
}

}  // namespace linkgain
