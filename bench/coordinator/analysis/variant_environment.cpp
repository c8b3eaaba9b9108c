#include "linkgain/analysis/variant_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

/// Says "NCCL_P2P_DISABLE=1", the first assignment that forbids P2P altogether, of the values that
/// `value_of_name` gives; empty where none does.
template <typename ValueOfName>
std::string forbidding_assignment(const ValueOfName& value_of_name) {
  for (const char* name : {kPreload, "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}) {
    const std::string value = value_of_name(name);
    if (!forbids_p2p(name, value)) continue;
    return fmt::format("{}={}", name, name == std::string_view(kPreload) ? kNoP2pLibrary : value);
  }
  return {};
}

/// Leaves out names of files, which differ in every run and affect nothing; nor does where mpirun
/// looks for hosts, which older records have.
bool is_of_interest(const std::string& name) {
  return name != "NCCL_DEBUG_FILE" && name != "OMPI_MCA_ras";
}

/// Tells whether what a variable affects is in what this record measured. Networks and logs are
/// others' matter.
bool matters(const EnvironmentVariable& variable, const Record& record) {
  switch (variable.affects) {
    case Affects::transport:
    case Affects::resources:
      return true;
    case Affects::gemm:
      return std::ranges::any_of(record.cases, [](const CaseResult& result) {
        return result.definition.training.has_value();
      });
    case Affects::network:
    case Affects::log:
      return false;
  }
  return false;
}

std::string shown_value(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "not set" : found->second.empty() ? "empty" : found->second;
}

}  // namespace

const Environment& environment_of(const Settings& settings, std::size_t variant) {
  return variant < settings.environment_in_force.size() ? settings.environment_in_force[variant]
                                                        : settings.variants[variant].environment;
}

std::vector<VariableChange> variable_changes(const Environment& before, const Environment& after) {
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : after) names.insert(name);
  std::vector<VariableChange> changes;
  for (const std::string& name : names) {
    if (!is_of_interest(name)) continue;
    VariableChange change{name, shown_value(before, name), shown_value(after, name)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

std::string shown_changes(const std::vector<VariableChange>& changes) {
  std::vector<std::string> parts;
  for (const VariableChange& each : changes) {
    parts.push_back(fmt::format("{}: {} there, {} here", each.name, each.before, each.after));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

const Environment& in_force(const Record& record, std::size_t variant) {
  static const Environment kNone;
  const auto& all = record.settings.environment_in_force;
  return variant < all.size() ? all[variant] : kNone;
}

std::string inherited(const Record& record, std::size_t variant, const std::string& name) {
  return record.settings.variants[variant].environment.contains(name)
             ? std::string()
             : value_of(in_force(record, variant), name);
}

Environment inherited_variables(const Record& record, std::size_t variant) {
  Environment variables;
  // Open MPI carries the messages of its own backend; NCCL's it only starts.
  const bool by_mpi = record.settings.backend == BackendKind::mpi;
  for (const auto& [name, unused] : in_force(record, variant)) {
    if (name.starts_with("OMPI_") != by_mpi) continue;
    const EnvironmentVariable* row = known_variable(name);
    if (row == nullptr || row->affects == Affects::log) continue;
    const std::string value = inherited(record, variant, name);
    if (!is_harmless(*row, value)) variables[name] = value;
  }
  return variables;
}

std::vector<std::string> inherited_switches(const Record& record, std::size_t variant) {
  std::vector<std::string> assignments;
  for (const auto& [name, value] : inherited_variables(record, variant)) {
    if (matters(*known_variable(name), record)) assignments.push_back(name + "=" + value);
  }
  return assignments;
}

std::string forbidden_by_caller(const Record& record, std::size_t variant) {
  return forbidding_assignment([&](const char* name) { return inherited(record, variant, name); });
}

std::string variable_of(const Record& record, const std::string& variant,
                        std::string_view variable) {
  const Settings& settings = record.settings;
  const std::string key(variable);
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    if (settings.variants[i].name != variant) continue;
    const Environment& seen = in_force(record, i);
    return value_of(seen.contains(key) ? seen : settings.variants[i].environment, key);
  }
  return {};
}

std::string p2p_forbidden_by(const Record& record, const std::string& variant) {
  return forbidding_assignment(
      [&](const char* name) { return variable_of(record, variant, name); });
}

bool is_p2p_off(const Record& record, const std::string& variant) {
  return !p2p_forbidden_by(record, variant).empty();
}

bool choose_path(const Record& record, const VariantResult& first, const VariantResult& other) {
  static constexpr std::array<std::string_view, 4> kPathVariables{
      "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NET_DISABLE_INTRA"};
  // A default chooses nothing.
  const auto chosen = [](std::string_view name, const std::string& value) {
    return is_harmless(*known_variable(name), value) ? "" : value;
  };
  const auto set_by = [&](const VariantResult& variant, std::string_view name) {
    const auto own = std::ranges::find(record.settings.variants, variant.variant, &Variant::name);
    const bool is_known = own != record.settings.variants.end();
    return chosen(name, is_known ? value_of(own->environment, std::string(name)) : "");
  };
  const auto in_force = [&](const VariantResult& variant, std::string_view name) {
    return chosen(name, variable_of(record, variant.variant, name));
  };
  return std::ranges::any_of(kPathVariables, [&](std::string_view name) {
    return set_by(first, name) != set_by(other, name) ||
           in_force(first, name) != in_force(other, name);
  });
}

}  // namespace linkgain
