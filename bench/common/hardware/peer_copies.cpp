#include "linkgain/hardware/peer_copies.hpp"

#include "linkgain/base/json.hpp"

namespace linkgain {
namespace {

json::Out write_copy(const PeerCopy& copy) {
  const Reading<double>& rate = copy.gb_per_s;
  return {{"from", copy.from},
          {"to", copy.to},
          {"gb_per_s",
           rate.measured() ? json::Out(rate.value()) : json::Out{{"not_measured", rate.reason()}}}};
}

PeerCopy read_copy(const json::In& json) {
  const json::In& rate = json.at("gb_per_s");
  return {json.at("from"), json.at("to"),
          rate.is_number() ? Reading<double>(rate.get<double>())
                           : Reading<double>::missing(rate.at("not_measured"))};
}

}  // namespace

std::string to_json_line(const std::vector<PeerCopy>& copies) {
  return json::text_of({{"peer_copies", json::array_of(copies, write_copy)}}, -1);
}

Reading<std::vector<PeerCopy>> peer_copies_in(std::string_view line) {
  try {
    return json::vector_of<PeerCopy>(json::In::parse(line).at("peer_copies"), read_copy);
  } catch (const nlohmann::json::exception&) {
    return Reading<std::vector<PeerCopy>>::missing("linkgain-bench does not report peer copies");
  }
}

}  // namespace linkgain
