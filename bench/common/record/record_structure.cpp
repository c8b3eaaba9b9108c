#include "record_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr const char* kTakeACopy = "take an unchanged copy; a record is not made to be edited";

[[noreturn]] void refuse(const CaseResult& result, const std::string& what) {
  throw UsageError(fmt::format("{}: {}", case_name(result.definition), what), kTakeACopy);
}

void require_variants(const CaseResult& result, const std::vector<Variant>& variants) {
  const bool alike =
      std::ranges::equal(result.variants, variants, {}, &VariantResult::variant, &Variant::name);
  if (!alike) refuse(result, "its variants are not those of the settings, in their order");
}

/// Readers find a rank by its number and by its place.
void require_ranks(const std::vector<RankInfo>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank == static_cast<int>(i)) continue;
    throw UsageError(
        fmt::format("its machine has rank {} in the place of rank {}", ranks[i].rank, i),
        kTakeACopy);
  }
}

void require_links(const Machine& machine) {
  const std::int64_t ranks = std::ssize(machine.ranks);
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < ranks; };
  for (const PairLink& link : machine.links) {
    if (is_rank(link.from) && is_rank(link.to) && link.from != link.to) continue;
    throw UsageError(fmt::format("its machine has a link from rank {} to rank {}, of {}", link.from,
                                 link.to, counted(ranks, "rank", "ranks")),
                     kTakeACopy);
  }
}

/// What prints programs' runs looks for nothing else among them.
void require_kind(const CaseResult& result, bool of_program) {
  if (is_program(result.definition.operation) == of_program) return;
  refuse(result, of_program ? "it is no case of a program" : "no program was run");
}

void require_launches(const CaseResult& result, int planned) {
  for (const Sample& sample : result.samples) {
    // As many as planned may be added.
    if (sample.launch >= 0 && sample.launch < 2 * planned) continue;
    refuse(result, fmt::format("a sample is of launch {}, of {} planned", sample.launch, planned));
  }
}

/// More wrong elements than were checked are none that a check found.
void require_verifications(const CaseResult& result) {
  for (const VariantResult& variant : result.variants) {
    const auto& verification = variant.verification;
    if (!verification || verification->wrong <= verification->checked) continue;
    refuse(result, fmt::format("{} of {} verified elements of {} are wrong", verification->wrong,
                               verification->checked, variant.variant));
  }
}

/// Whoever counts a case twice has twice as many launches, which look more alike than they are.
void require_each_once(const Record& record) {
  std::set<std::string> names;
  for (const Variant& variant : record.settings.variants) {
    if (names.insert(variant.name).second) continue;
    throw UsageError(fmt::format("variant {} is there twice", variant.name), kTakeACopy);
  }
  names.clear();
  for (const CaseResult& result : record.cases) {
    if (!names.insert(case_name(result.definition)).second) refuse(result, "it is there twice");
  }
}

}  // namespace

void require_structure(const Record& record) {
  require_each_once(record);
  require_ranks(record.machine.ranks);
  require_links(record.machine);
  for (const CaseResult& result : record.cases) {
    require_kind(result, record.settings.program.has_value());
    require_variants(result, record.settings.variants);
    require_launches(result, record.settings.launches);
    require_verifications(result);
  }
}

void derive_results(Record& record) {
  require_structure(record);
  for (CaseResult& result : record.cases) summarise(result);
}

}  // namespace linkgain
