// Sizes as --sizes has them.
#include "fuzz_target.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

std::string written(const std::vector<Bytes>& sizes) {
  std::string text;
  for (const Bytes size : sizes) {
    if (!text.empty()) text += ',';
    text += exact_bytes(size);
    readable_bytes(size);
  }
  return text;
}

void read(std::string_view text) {
  const std::vector<Bytes> sizes = parse_sizes(text);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes before = i == 0 ? Bytes{0} : sizes[i - 1];
    if (sizes[i] <= before) throw std::logic_error("sizes do not ascend from 1");
  }
  fuzz::require_round_trip(sizes, parse_sizes, written);
}

}  // namespace
}  // namespace linkgain
