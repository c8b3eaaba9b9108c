#include "linkgain/base/environment.hpp"

namespace linkgain {

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace linkgain
