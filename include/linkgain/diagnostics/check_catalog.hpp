#pragma once

#include <span>
#include <string_view>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/tables/document.hpp"

/// The checks of `linkgain doctor` and what each can find, said once for findings and `--explain`.
namespace linkgain {

/// Whether a check judges the machine, or what a run that this process starts would find: the
/// processors that the process is bound to, its environment, the programs on its PATH.
enum class CheckScope { node, run };

struct CheckEntry {
  std::string_view id;
  CheckGroup group = CheckGroup::host;
  std::string_view looks_at;
  CheckScope scope = CheckScope::node;
};

/// Gives every check, in the order of a diagnosis.
std::span<const CheckEntry> check_catalog();

/// Gives every fault, in the order of the checks.
std::span<const Fault* const> fault_catalog();

/// Gives the check of that id. Throws UsageError where there is none.
const CheckEntry& find_check(std::string_view id);

/// Says for `doctor --explain` what a check looks at, what it may find and what to do.
Document explanation_of(const CheckEntry& check);

}  // namespace linkgain
