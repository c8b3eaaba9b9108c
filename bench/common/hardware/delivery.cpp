#include "linkgain/hardware/delivery.hpp"

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_members.hpp"

namespace linkgain {

void describe_members(auto& visit, json::Is<Delivery> auto& delivery) {
  visit("outcome", delivery.outcome);
  visit("seen", delivery.seen);
  visit.later("seconds", delivery.seconds);
}

std::string to_json_line(const Delivery& delivery) {
  return json::dump({{"delivery", json::write(delivery)}}, -1);
}

Reading<Delivery> delivery_in(std::string_view line) {
  try {
    const json::Document document(line);
    const json::Node root = document.root();
    const auto delivery = root.is_object() ? root.find("delivery") : std::nullopt;
    if (delivery) return json::read<Delivery>(*delivery, {"delivery", "", false});
  } catch (const UsageError&) {
  }
  return Missing{"linkgain-bench does not say what arrived"};
}

}  // namespace linkgain
