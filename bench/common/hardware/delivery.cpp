#include "linkgain/hardware/delivery.hpp"

#include <array>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

using Outcome = Delivery::Outcome;

constexpr std::array kOutcomes{Outcome::arrived, Outcome::not_arrived, Outcome::gave_up};

}  // namespace

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
  return json::text_of(
      {{"delivery", {{"outcome", name_of(delivery.outcome)}, {"seen", delivery.seen}}}}, -1);
}

Reading<Delivery> delivery_in(std::string_view line) {
  try {
    const json::In delivery = json::In::parse(line).at("delivery");
    return Delivery{parse_name("outcome", delivery.at("outcome").get<std::string>(), kOutcomes),
                    delivery.at("seen")};
  } catch (const nlohmann::json::exception&) {
  } catch (const UsageError&) {
  }
  return Reading<Delivery>::missing("linkgain-bench does not say what arrived");
}

}  // namespace linkgain
