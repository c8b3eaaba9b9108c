// A record, as `report`, `check`, `list` and `fleet` read it.
#include "fuzz_target.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const Record record = parse_record(text, "input");
  const auto parse = [](const std::string& written) { return parse_record(written, "written"); };
  const auto write = [](const Record& read) { return to_json(read); };
  fuzz::require_round_trip(record, parse, write);
}

}  // namespace
}  // namespace linkgain
