#include "linkgain/hardware/hardware_members.hpp"

#include <algorithm>

#include "linkgain/base/errors.hpp"

namespace linkgain::json {

Ancestor AsText<Ancestor>::parse(const std::string& label) {
  const auto found =
      std::ranges::find(kAncestors, label, [](Ancestor each) { return label_of(each); });
  if (found == kAncestors.end()) throw UsageError("no such ancestor: " + label);
  return *found;
}

std::vector<std::string> AsText<Ancestor>::words() {
  std::vector<std::string> labels;
  for (const Ancestor each : kAncestors) labels.emplace_back(label_of(each));
  return labels;
}

}  // namespace linkgain::json
