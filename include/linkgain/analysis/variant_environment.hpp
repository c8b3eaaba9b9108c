#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/record/record.hpp"

/// Which variables were in force while a variant was measured, and who had set them.
namespace linkgain {

/// Says what is in force for a variant; what it sets itself where that was not recorded.
const Environment& environment_of(const Settings& settings, std::size_t variant);

/// A variable that differs between two runs: its values, "empty" or "not set".
struct VariableChange {
  std::string name;
  std::string before;
  std::string after;
};

/// Gives them by name, without variables that differ from run to run and affect nothing.
std::vector<VariableChange> variable_changes(const Environment& before, const Environment& after);

/// Says "NCCL_ALGO: not set there, Ring here; …", where `before` was there.
std::string shown_changes(const std::vector<VariableChange>& changes);

/// Gives a variant's variables by allow-list as its worker saw them; empty where that is not known.
const Environment& in_force(const Record& record, std::size_t variant);

/// Gives a variable that the caller set in force for a variant, not the variant itself; empty where
/// it is not set.
std::string inherited(const Record& record, std::size_t variant, const std::string& name);

/// Gives variables that the caller set, not the variant, with values that change something; without
/// those that only log.
Environment inherited_variables(const Record& record, std::size_t variant);

/// Lists assignments of these that affect transports, algorithms, memory or the computing of a
/// training: "NCCL_ALGO=Ring".
std::vector<std::string> inherited_switches(const Record& record, std::size_t variant);

/// Says "NCCL_P2P_DISABLE=1": the caller's variable that forbids P2P altogether in this variant;
/// empty where none does.
std::string forbidden_by_caller(const Record& record, std::size_t variant);

/// Gives a variable as the variant's worker saw it, else as the variant sets it; empty where it is
/// not set.
std::string variable_of(const Record& record, const std::string& variant,
                        std::string_view variable);

/// Says "NCCL_P2P_LEVEL=LOC": the variable in force that forbids P2P altogether in a variant,
/// whoever set it; empty where none does.
std::string p2p_forbidden_by(const Record& record, const std::string& variant);

/// Tells whether a variable forbids P2P altogether in a variant, whoever set it.
bool is_p2p_off(const Record& record, const std::string& variant);

/// Tells whether the variants differ in a switch of NCCL's that opens or closes a path, as they set
/// it or as it was in force. Algorithms
/// and protocols go down whatever path there is, as NVLS and windows do down NVLink.
bool choose_path(const Record& record, const VariantResult& first, const VariantResult& other);

}  // namespace linkgain
