#include "linkgain/hardware/peer_copies.hpp"

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/json_node.hpp"

namespace linkgain {
namespace {

json::Out write_copy(const PeerCopy& copy) {
  const Reading<double>& rate = copy.gb_per_s;
  return {{"from", copy.from},
          {"to", copy.to},
          {"gb_per_s",
           rate.measured() ? json::Out(rate.value()) : json::Out{{"not_measured", rate.reason()}}}};
}

/// Returns a member of this kind. Throws UsageError where there is none.
json::Node member(const json::Node& object, const char* key, json::Node::Kind kind) {
  const auto found = object.is_object() ? object.find(key) : std::nullopt;
  if (!found || found->kind() != kind) throw UsageError(key);
  return *found;
}

PeerCopy read_copy(const json::Node& copy) {
  using enum json::Node::Kind;
  PeerCopy read{std::string(member(copy, "from", text).text()),
                std::string(member(copy, "to", text).text()), Missing{}};
  const auto rate = copy.find("gb_per_s");
  read.gb_per_s = rate && rate->is_number()
                      ? Reading<double>(rate->number())
                      : Missing{std::string(
                            member(member(copy, "gb_per_s", object), "not_measured", text).text())};
  return read;
}

}  // namespace

std::string to_json_line(const std::vector<PeerCopy>& copies) {
  return json::dump({{"peer_copies", json::array_of(copies, write_copy)}}, -1);
}

Reading<std::vector<PeerCopy>> peer_copies_in(std::string_view line) {
  try {
    const json::Document document(line);
    const json::Node all = member(document.root(), "peer_copies", json::Node::Kind::array);
    std::vector<PeerCopy> copies;
    json::Items items(all);
    while (const auto item = items.next()) copies.push_back(read_copy(*item));
    return copies;
  } catch (const UsageError&) {
    return Missing{"linkgain-bench does not report peer copies"};
  }
}

}  // namespace linkgain
