#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/core/case.hpp"

/// Option values that both programs take.
namespace linkgain {

/// "0,1" as device numbers. Throws UsageError.
std::vector<int> parse_gpus(std::string_view text);

/// "0-1" as a one-way pair. Throws UsageError.
Pair parse_pair(std::string_view text);

/// Every name by `parse`, in order.
template <typename Value, typename Parse>
std::vector<Value> parse_each(const std::vector<std::string>& names, Parse parse) {
  std::vector<Value> values;
  for (const std::string& name : names) values.push_back(parse(name));
  return values;
}

}  // namespace linkgain
