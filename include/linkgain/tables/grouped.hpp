#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace linkgain {

/// So many rows that say the same become one.
inline constexpr int kFewestAlike = 3;

/// Keeps items in their order; puts those of the same `key`, where there are kFewestAlike of them
/// or more, together in the place of the first. An empty key keeps an item alone.
template <typename Item, typename Key>
std::vector<std::vector<const Item*>> grouped(const std::vector<const Item*>& items, Key key) {
  std::map<std::string, int> counts;
  for (const Item* item : items) ++counts[key(*item)];
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<const Item*>> groups;
  for (const Item* item : items) {
    const std::string own = key(*item);
    const bool alone = own.empty() || counts[own] < kFewestAlike;
    const auto [place, added] =
        alone ? std::pair{places.end(), true} : places.try_emplace(own, groups.size());
    if (added) groups.emplace_back();
    groups.at(added ? groups.size() - 1 : place->second).push_back(item);
  }
  return groups;
}

}  // namespace linkgain
