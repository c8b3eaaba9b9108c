#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "linkgain/diagnostics/finding.hpp"

namespace linkgain {

/// Whether a check judges the machine, or what a run that this process starts would find: the
/// processors that the process is bound to, its environment, the programs on its PATH.
enum class CheckScope { node, run };

/// What a check of `linkgain doctor` is about.
struct CheckEntry {
  std::string_view id;
  CheckGroup group = CheckGroup::host;
  std::string_view meaning;  ///< what is looked at, and what the verdicts but ok stand for
  std::string_view fix;
  CheckScope scope = CheckScope::node;
};

/// Every check, in the order of a diagnosis.
std::span<const CheckEntry> check_catalog();

/// The check of that id. Throws UsageError where there is none.
const CheckEntry& find_check(std::string_view id);

/// For `doctor --explain`: paragraphs of at most `width`.
std::string explanation_of(const CheckEntry& check, std::size_t width);

}  // namespace linkgain
