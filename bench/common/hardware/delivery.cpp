#include "linkgain/hardware/delivery.hpp"

#include <array>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_members.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

using Outcome = Delivery::Outcome;

constexpr std::array kOutcomes{Outcome::arrived, Outcome::not_arrived, Outcome::gave_up};

Outcome parse_outcome(std::string_view name) { return parse_name("outcome", name, kOutcomes); }

}  // namespace

template <>
struct json::AsText<Outcome> : NamedEnum<Outcome, kOutcomes, parse_outcome> {};

void describe_members(auto& visit, json::Is<Delivery> auto& delivery) {
  visit("outcome", delivery.outcome);
  visit("seen", delivery.seen);
}

std::string_view name_of(Delivery::Outcome outcome) {
  switch (outcome) {
    case Outcome::arrived:
      return "arrived";
    case Outcome::not_arrived:
      return "not arrived";
    case Outcome::gave_up:
      return "gave up";
  }
  throw std::logic_error("unhandled outcome");
}

std::string_view name_of(ProofRung rung) {
  switch (rung) {
    case ProofRung::stores:
      return "stores";
    case ProofRung::copy_engine:
      return "copy-engine";
    case ProofRung::flags:
      return "flags";
    case ProofRung::all_reduce:
      return "all-reduce";
    case ProofRung::control:
      return "control";
  }
  throw std::logic_error("unhandled rung");
}

ProofRung parse_proof_rung(std::string_view name) { return parse_name("rung", name, kProofRungs); }

std::string to_json_line(const Delivery& delivery) {
  return json::text_of({{"delivery", json::write(delivery)}}, -1);
}

Reading<Delivery> delivery_in(std::string_view line) {
  try {
    const json::Document document(line);
    const json::Node root = document.root();
    const auto delivery = root.is_object() ? root.find("delivery") : std::nullopt;
    if (delivery) return json::read<Delivery>(*delivery, {"delivery", "", false});
  } catch (const UsageError&) {
  }
  return Reading<Delivery>::missing("linkgain-bench does not say what arrived");
}

}  // namespace linkgain
