// A record, as `report` and `check` read it, as `list` does up to its samples, and as `fleet` does,
// which passes over what it does not need: what is a record to the first must be the same to
// `fleet`.
#include "fuzz_target.hpp"
#include "linkgain/fleet/fleet_record.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {
namespace {

void require_same_to_fleet(const Record& record, const std::string& text) {
  FleetNames names;
  const FleetRecord parsed = fleet_record_of(record, names);
  const FleetRecord scanned =
      fuzz::must_work("fleet refuses it", [&] { return scan_fleet_record(text, names); });
  const bool same = parsed.values == scanned.values && parsed.status == scanned.status &&
                    parsed.started == scanned.started && parsed.exit_code == scanned.exit_code &&
                    parsed.launches == scanned.launches &&
                    parsed.neighbours == scanned.neighbours &&
                    parsed.machine.host == scanned.machine.host &&
                    parsed.machine.ranks.size() == scanned.machine.ranks.size();
  if (!same) throw std::logic_error("fleet reads something else");
}

void read(std::string_view text) {
  fuzz::reads([&] { parse_record_head(text, "input"); });
  fuzz::reads([&] {
    FleetNames names;
    scan_fleet_record(text, names);
  });
  const Record record = parse_record(text, "input");
  const auto parse = [](const std::string& written) { return parse_record(written, "written"); };
  // Without the digest that calls for times as linkgain derives them today.
  const auto write = [](const Record& value) {
    std::string written = to_json(value);
    written.erase(written.rfind(",\n\"digest\": "));
    return written + "}";
  };
  fuzz::require_round_trip(record, parse, write);
  require_same_to_fleet(record, to_json(record));
}

}  // namespace
}  // namespace linkgain

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return linkgain::fuzz::run(data, size, linkgain::read);
}
