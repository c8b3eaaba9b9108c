#include "pair_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
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

bool gave_wrong_data(const CaseResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(), has_wrong_data);
}

bool is_measured(const CaseResult& result) {
  return !result.variants.empty() && result.variants.front().time.has_value();
}

/// Sizes at which pairs differ().
std::set<Bytes> telling_sizes(const std::vector<const CaseResult*>& cases, double precision) {
  std::map<Bytes, std::vector<double>> times;
  for (const CaseResult* result : cases) {
    if (gave_wrong_data(*result) || !is_measured(*result)) continue;
    times[result->definition.size].push_back(result->variants.front().time->value);
  }
  std::set<Bytes> telling;
  for (const auto& [size, of_pairs] : times) {
    if (differ(of_pairs, precision)) telling.insert(size);
  }
  return telling;
}

/// Cases of one size and group in the order of curves_for_headline(): wrong data, not measured,
/// then by time where it tells, of equal ones the first of a matrix last.
std::tuple<bool, bool, Seconds, int, int> strength_of(const CaseResult& result, bool by_time) {
  const bool measured = is_measured(result);
  const Pair pair = result.definition.pair.value_or(Pair{});
  return {!gave_wrong_data(result), measured,
          measured && by_time ? *result.variants.front().time : Seconds{}, -pair.from, -pair.to};
}

void sort_for_headline(std::vector<const CaseResult*>& cases, double precision) {
  const std::set<Bytes> telling = telling_sizes(cases, precision);
  std::stable_sort(cases.begin(), cases.end(), [&](const CaseResult* a, const CaseResult* b) {
    const Bytes size = a->definition.size;
    if (size != b->definition.size) return size < b->definition.size;
    const bool by_time = telling.contains(size);
    return strength_of(*a, by_time) < strength_of(*b, by_time);
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

bool differ(const std::vector<double>& values, double precision) {
  const auto [least, most] = std::ranges::minmax(values);
  return most > (1.0 + precision) * least;
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
  for (Curve& group : groups) sort_for_headline(group.cases, record.settings.precision);
  return groups;
}

}  // namespace linkgain
