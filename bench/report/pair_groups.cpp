#include "pair_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace linkgain {
namespace {

/// What cases have in common that differ in size and the pair's ranks only.
std::string group_name(Case definition) {
  if (definition.pair) definition.pair = Pair{0, 1, definition.pair->both};
  return curve_name(definition);
}

bool hides_gpus(const Environment& environment) {
  return environment.count("CUDA_VISIBLE_DEVICES") > 0;
}

/// nvidia-smi counts by PCI id, CUDA as it is told; ranks count those that they were given.
bool ranks_are_gpus(const Record& record) {
  const std::vector<RankInfo>& ranks = record.machine.ranks;
  const auto& in_force = record.settings.environment_in_force;
  if (ranks.empty() || !on_one_host(record.machine) ||
      std::any_of(in_force.begin(), in_force.end(), hides_gpus)) {
    return false;
  }
  const bool same_numbers = std::all_of(ranks.begin(), ranks.end(), [](const RankInfo& rank) {
    return rank.gpu && rank.gpu->cuda_index == rank.rank;
  });
  return same_numbers &&
         std::is_sorted(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
           return a.gpu->pci_bus_id < b.gpu->pci_bus_id;
         });
}

/// Cases of one size and group in the order of curves_for_headline(): wrong data, not measured,
/// then by time, of equal ones the first of a matrix last.
std::tuple<bool, bool, Seconds, int, int> strength_of(const CaseResult& result) {
  const bool wrong = std::any_of(result.variants.begin(), result.variants.end(), has_wrong_data);
  const bool measured = !result.variants.empty() && result.variants.front().time.has_value();
  const Pair pair = result.definition.pair.value_or(Pair{});
  return {!wrong, measured, measured ? *result.variants.front().time : Seconds{}, -pair.from,
          -pair.to};
}

void sort_for_headline(std::vector<const CaseResult*>& cases) {
  std::stable_sort(cases.begin(), cases.end(), [](const CaseResult* a, const CaseResult* b) {
    const bool same_size = a->definition.size == b->definition.size;
    return same_size ? strength_of(*a) < strength_of(*b) : a->definition.size < b->definition.size;
  });
}

}  // namespace

std::string end_label(const Record& record, int rank) {
  return fmt::format("{}{}", ranks_are_gpus(record) ? "GPU" : "rank ", rank);
}

std::string_view arrow_of(const Pair& pair) { return pair.both ? "↔" : "→"; }

std::string ends_label(const Record& record, const Pair& pair) {
  return fmt::format("{} {} {}", end_label(record, pair.from), arrow_of(pair),
                     end_label(record, pair.to));
}

std::vector<ShownFamily> shown_families(const Record& record) {
  std::vector<ShownFamily> shown;
  std::map<std::string, std::vector<Bytes>> sizes;
  for (PairFamily& family : pair_families(record)) {
    if (family.cases.size() < 2) continue;
    sizes[group_name(family.definition())].push_back(family.definition().size);
    shown.push_back({std::move(family), true});
  }
  for (ShownFamily& each : shown) {
    each.by_pair = sizes[group_name(each.family.definition())].size() == 1;
  }
  std::erase_if(shown, [&](const ShownFamily& each) {
    const Case& definition = each.family.definition();
    const auto [least, most] = std::ranges::minmax(sizes[group_name(definition)]);
    return definition.size != least && definition.size != most;
  });
  return shown;
}

std::vector<Curve> curves_by_size(const Record& record) {
  std::vector<Curve> curves = curves_of(record);
  for (const ShownFamily& shown : shown_families(record)) {
    if (!shown.by_pair) continue;
    const auto& cases = shown.family.cases;
    std::erase_if(curves, [&](const Curve& curve) {
      return curve.cases.size() == 1 &&
             std::find(cases.begin(), cases.end(), curve.cases.front()) != cases.end();
    });
  }
  return curves;
}

std::vector<Curve> curves_for_headline(const Record& record) {
  std::vector<Curve> groups;
  for (const Curve& curve : curves_of(record)) {
    const std::string name = group_name(curve.cases.front()->definition);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const Curve& group) { return group.name == name; });
    if (known == groups.end()) {
      groups.push_back({name, curve.cases});
    } else {
      known->cases.insert(known->cases.end(), curve.cases.begin(), curve.cases.end());
    }
  }
  for (Curve& group : groups) sort_for_headline(group.cases);
  return groups;
}

}  // namespace linkgain
