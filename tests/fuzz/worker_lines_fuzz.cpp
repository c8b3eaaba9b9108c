// What linkgain-bench says of its peer copies (--load) and of what arrived (--prove).
#include "fuzz_target.hpp"
#include "linkgain/hardware/delivery.hpp"
#include "linkgain/hardware/peer_copies.hpp"

namespace linkgain {
namespace {

/// Expects what a reader has taken to be the same when it is written and read again.
template <typename Value>
bool survives(std::string_view line, Reading<Value> (*read)(std::string_view)) {
  const Reading<Value> taken = read(line);
  if (!taken.measured()) return false;
  fuzz::require_round_trip(
      taken.value(), [read](std::string_view text) { return read(text).value(); },
      [](const Value& value) { return to_json_line(value); });
  return true;
}

void read(std::string_view line) {
  if (survives(line, peer_copies_in) || survives(line, delivery_in)) return;
  throw UsageError("neither copies nor a delivery");
}

}  // namespace
}  // namespace linkgain
