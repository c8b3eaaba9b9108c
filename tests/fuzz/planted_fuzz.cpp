// No reader of linkgain's, but one with a fault: fuzz_replay must find it.
#include "fuzz_target.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) throw UsageError("no number");
  std::stoi(std::string(text.substr(digits)));  // throws std::out_of_range for a large one
}

}  // namespace
}  // namespace linkgain
