#include "linkgain/summary/run_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/program_path.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

namespace linkgain {
namespace {

/// Tells whether each variable that one sets or takes away, and the other does not alike, decides
/// about the transport.
bool differ_in_transport(const Variant& own, const Variant& other) {
  const auto decides = [](const std::string& name) {
    const EnvironmentVariable* const known = known_variable(name);
    return known != nullptr && known->affects == Affects::transport;
  };
  return std::ranges::all_of(own.environment,
                             [&](const auto& each) {
                               return value_of(other.environment, each.first) == each.second ||
                                      forbids_p2p(each.first, each.second) || decides(each.first);
                             }) &&
         std::ranges::all_of(own.unset, [&](const std::string& name) {
           return std::ranges::count(other.unset, name) > 0 || decides(name);
         });
}

/// Names what two variants of a program are known to part by, by counters of NVLink before all,
/// then by their paths or by what the library of no-p2p refused; on an axis, at one of its values.
Contrast contrast_of_program(const Record& record, const std::string& at) {
  const Variant& first = record.settings.variants[0];
  const Variant& other = record.settings.variants[1];
  const bool lacks_p2p_alone = !is_p2p_off(record, first.name) && is_p2p_off(record, other.name) &&
                               first.nccl == other.nccl && first.arguments == other.arguments &&
                               differ_in_transport(first, other) &&
                               differ_in_transport(other, first);
  if (!lacks_p2p_alone || refuses_p2p(record.machine)) return Contrast::variant;
  const std::vector<RunEvidence> firsts = counted_runs(record, first.name, at);
  const std::vector<RunEvidence> others = counted_runs(record, other.name, at);
  const double most = most_nvlink_bytes(record, at);
  const Path path = path_of_program(firsts, record.machine, most);
  const Path other_path = path_of_program(others, record.machine, most);
  if (is_nvlink_parted(firsts, others)) {
    return path == Path::nvlink ? Contrast::nvlink : Contrast::p2p;
  }
  const bool parts = has_p2p(path) && is_without_p2p(other_path);
  const bool is_refused = is_peer_access_refused(others) && !has_p2p(other_path);
  return parts || is_refused ? Contrast::p2p : Contrast::variant;
}

bool is_control(const Record& record, const VariantResult& result) {
  return std::ranges::any_of(record.settings.variants, [&](const Variant& each) {
    return each.is_control && each.name == result.variant;
  });
}

bool has_two_arms(const Record& record, const CaseResult& result) {
  const auto arms = std::ranges::count_if(
      result.variants, [&](const VariantResult& each) { return !is_control(record, each); });
  return arms == 2;
}

/// Tells it of a later variant. Programs of more than two, beside a control, have none but names.
Contrast contrast_of(const Record& record, const CaseResult& result, std::size_t place) {
  if (record.settings.program) {
    return has_two_arms(record, result) ? contrast_of_program(record, result.definition.metric->at)
                                        : Contrast::variant;
  }
  const VariantResult& first = result.variants[0];
  const VariantResult& other = result.variants[place];
  if (record.settings.backend == BackendKind::mpi) {
    const bool are_usual = first.variant == "shared-memory" && other.variant == "tcp";
    return are_usual ? Contrast::shared_memory : Contrast::variant;
  }
  const bool is_elsewhere = other.path != Path::unknown && other.path != Path::mixed;
  if (first.path == Path::nvlink && other.path != Path::nvlink && is_elsewhere) {
    return Contrast::nvlink;
  }
  return !is_p2p_off(record, first.variant) && is_p2p_off(record, other.variant)
             ? Contrast::p2p
             : Contrast::variant;
}

std::vector<Comparison> compare_variants(const Record& record, const CaseResult& result) {
  std::vector<Comparison> comparisons;
  for (std::size_t i = 1; i < result.variants.size(); ++i) {
    Comparison comparison{.first = &result.variants.front(),
                          .other = &result.variants[i],
                          .contrast = contrast_of(record, result, i)};
    const auto ratio =
        std::ranges::find(result.ratios, comparison.other->variant, &RatioResult::variant);
    if (ratio != result.ratios.end()) {
      comparison.ratio = &ratio->ratio;
      const double precision = precision_of(record.settings, result.definition);
      comparison.is_precise =
          result.converged || (result.ratios.size() > 1 && is_precise(ratio->ratio, precision));
    }
    Judgement judgement = judge_variants(record, result, i);
    comparison.verdict = judgement.verdict;
    comparison.reasons = std::move(judgement.reasons);
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

VariantSummary summary_of(const Record& record, const LaunchMeans& means, std::size_t index,
                          std::size_t place) {
  const CaseResult& result = record.cases[index];
  const VariantResult& variant = result.variants[place];
  VariantSummary summary{.result = &variant, .wrong_data = has_wrong_data(variant)};
  if (const std::optional<LaunchMean>& mean = means[index][place]) {
    summary.time_interval = mean->interval();
  }
  summary.limit_share = shown_fraction(result.definition, variant);
  summary.library_ratio = library_ratio(record, means, index, variant.variant);
  if (summary.library_ratio) summary.beside_library = judge_beside_library(*summary.library_ratio);
  if (variant.evidence) summary.nvlink_share = variant.evidence->judged_share();
  summary.launches = launch_medians(result, place).size();
  if (record.settings.program) {
    summary.is_control = is_control(record, variant);
    summary.ended = ended_runs(record, result, place);
    const std::vector<RunEvidence> runs =
        counted_runs(record, variant.variant, result.definition.metric->at);
    summary.nvlink_bytes = nvlink_bytes_in_a_run(runs);
    summary.connections = readable_connections(connections_of(runs));
  }
  if (may_stand_for_run(result.definition)) {
    summary.exposed = exposed_communication(record, result, place);
    summary.losses_parted = place > 0 && have_losses_parted(result, place);
  }
  return summary;
}

CaseSummary summary_of(const Record& record, const LaunchMeans& means, std::size_t index) {
  const CaseResult& result = record.cases[index];
  CaseSummary summary{.result = &result};
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    summary.variants.push_back(summary_of(record, means, index, i));
    const bool measured = result.variants[i].time.has_value();
    summary.is_compared =
        summary.is_compared || (i > 0 && measured && result.variants.front().time.has_value());
    summary.is_measured = summary.is_measured || measured;
    summary.has_wrong_data = summary.has_wrong_data || summary.variants.back().wrong_data;
  }
  summary.comparisons = compare_variants(record, result);
  if (has_two_arms(record, result)) summary.contrast = summary.comparisons.front().contrast;
  summary.remedy = remedy_for(record, result);
  if (const std::optional<Pair>& pair = result.definition.pair) {
    const PairLink* link = find_link(record.machine, pair->from, pair->to);
    if (link != nullptr) summary.link = label_of(*link);
  }
  return summary;
}

/// Finds what follows from a curve's cases.
void finish(Curve& curve) {
  std::map<std::string, std::map<Path, int>> counts;
  for (const CaseSummary* each : curve.cases) {
    for (const VariantSummary& variant : each->variants) {
      const std::string& name = variant.result->variant;
      const auto known = std::ranges::find(curve.variants, name);
      if (known == curve.variants.end()) curve.variants.push_back(name);
      if (variant.result->time) ++counts[name][variant.result->path];
      curve.is_judged = curve.is_judged || variant.nvlink_share;
    }
  }
  for (const auto& [variant, paths] : counts) {
    const auto usual = std::ranges::max_element(
        paths, [](const auto& a, const auto& b) { return a.second < b.second; });
    curve.usual_paths[variant] = usual->first;
  }
}

/// Names what cases have in common that differ in size and the pair's ranks only.
std::string group_name(Case definition) {
  if (definition.pair) definition.pair = Pair{0, 1, definition.pair->both};
  return curve_name(definition);
}

bool hides_gpus(const Environment& environment) {
  return environment.count("CUDA_VISIBLE_DEVICES") > 0;
}

/// Compares the numbers: nvidia-smi counts by PCI id, CUDA as it is told; ranks count those that
/// they were given.
bool have_ranks_gpu_numbers(const Record& record) {
  const std::vector<RankInfo>& ranks = record.machine.ranks;
  const auto& in_force = record.settings.environment_in_force;
  if (ranks.empty() || !on_one_host(record.machine) || std::ranges::any_of(in_force, hides_gpus)) {
    return false;
  }
  const bool same_numbers = std::ranges::all_of(
      ranks, [](const RankInfo& rank) { return rank.gpu && rank.gpu->cuda_index == rank.rank; });
  return same_numbers && std::ranges::is_sorted(ranks, [](const auto& a, const auto& b) {
           return a.gpu->pci_bus_id < b.gpu->pci_bus_id;
         });
}

/// Adds the smallest and the largest size at which the group has several pairs.
void add_pairs(const Record& record, CaseGroup& group) {
  std::map<Bytes, std::vector<const CaseSummary*>> sizes;
  for (const CaseSummary* each : group.all.cases) {
    if (each->definition().pair) sizes[each->definition().size].push_back(each);
  }
  std::erase_if(sizes, [](const auto& each) { return each.second.size() < 2; });
  for (auto& [size, own] : sizes) {
    if (size != sizes.begin()->first && size != sizes.rbegin()->first) continue;
    std::ranges::stable_sort(own, {}, [](const CaseSummary* each) {
      return std::pair(each->definition().pair->from, each->definition().pair->to);
    });
    PairFamily family;
    for (const CaseSummary* each : own) family.cases.push_back(each->result);
    PairsSummary& shown = group.pairs.emplace_back();
    shown.cases = curve_of("", own);
    shown.is_symmetric = family.symmetric();
    shown.by_pair = sizes.size() == 1;
    for (PairMatrix& matrix : pair_matrices(record, family)) {
      PairMatrixSummary& summary = shown.matrices.emplace_back();
      summary.weakest = weakest_pairs(matrix, family);
      for (const PairEntry& entry : matrix.entries) {
        if (const std::optional<double> value = matrix.value(entry)) {
          summary.values.push_back(*value);
        }
      }
      summary.matrix = std::move(matrix);
    }
  }
}

}  // namespace

bool Comparison::has(Reason::Kind kind) const {
  return std::ranges::count(reasons, kind, &Reason::kind) > 0;
}

std::string LaunchRange::text(std::string_view one, std::string_view many) const {
  return is_one() ? counted(most, one, many) : fmt::format("{} to {} {}", least, most, many);
}

std::size_t CaseSummary::arms() const {
  return static_cast<std::size_t>(std::ranges::count(variants, false, &VariantSummary::is_control));
}

const VariantSummary* CaseSummary::find(std::string_view variant) const {
  const auto found = std::ranges::find_if(
      variants, [&](const VariantSummary& each) { return each.result->variant == variant; });
  return found == variants.end() ? nullptr : &*found;
}

Curve curve_of(std::string name, std::vector<const CaseSummary*> cases) {
  Curve curve{.name = std::move(name), .cases = std::move(cases)};
  finish(curve);
  return curve;
}

Case Curve::definition() const {
  Case definition = cases.front()->definition();
  definition.launch = cases.back()->definition().launch;
  return definition;
}

bool Curve::mixes_launches() const {
  return std::ranges::any_of(cases, [&](const CaseSummary* each) {
    return each->definition().launch != cases.front()->definition().launch;
  });
}

RunSummary::RunSummary(const Record& of)
    : confirming_(of.settings.race ? std::optional(confirming_part(of)) : std::nullopt),
      record(confirming_ ? *confirming_ : of),
      tuning(tuning_of(of)),
      soak(soak_summary(of)),
      ranks_are_gpus(have_ranks_gpu_numbers(record)) {
  const LaunchMeans means = launch_means(record);
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    cases.push_back(summary_of(record, means, i));
  }
  for (const CaseResult& result : record.cases) {
    for (const RatioResult& each : shown_ratios(result)) launches.add(each.ratio.replicates);
  }
  if (launches.most == 0) launches.add(count_launches(record));
  find_mixed_launches();
  add_groups();
  condense();
  add_trainings();
  add_health();
}

bool RunSummary::lacks_samples() const {
  const auto is_left_out = [](const VariantResult& each) { return each.skipped.has_value(); };
  const auto was_sampled = [&](const CaseResult& result) {
    using enum StopReason;
    const bool ended = result.stopped == converged || result.stopped == launches_differ ||
                       result.stopped == out_of_rounds;
    return ended && !std::ranges::all_of(result.variants, is_left_out);
  };
  const auto has_samples = [](const CaseResult& result) { return !result.samples.empty(); };
  return std::ranges::none_of(record.cases, has_samples) &&
         std::ranges::any_of(record.cases, was_sampled);
}

double RunSummary::distinct() const { return record.settings.precision.value_or(0.01); }

bool RunSummary::differ(const std::vector<double>& values) const {
  const auto [least, most] = std::ranges::minmax(values);
  return most > (1.0 + distinct()) * least;
}

const CaseSummary* RunSummary::main_case(const Curve& curve,
                                         const std::function<bool(const CaseSummary&)>& has) const {
  std::vector<const CaseSummary*> candidates = curve.cases;
  std::erase_if(candidates, [&](const CaseSummary* each) { return !has(*each); });
  if (candidates.empty()) return nullptr;
  const bool latency = is_latency(curve.definition().operation);
  const Bytes size = (latency ? candidates.front() : candidates.back())->definition().size;
  const auto leave = [&](auto is_left) {
    if (std::ranges::any_of(candidates, is_left)) std::erase_if(candidates, std::not_fn(is_left));
  };
  leave([size](const CaseSummary* each) { return each->definition().size == size; });
  leave([](const CaseSummary* each) { return !each->has_wrong_data; });
  std::vector<double> times;
  for (const CaseSummary* each : candidates) {
    times.push_back(seconds_of(each->result->variants.front().time).value_or(0.0));
  }
  if (differ(times))
    return candidates[static_cast<std::size_t>(std::ranges::max_element(times) - times.begin())];
  return *std::ranges::min_element(candidates, {}, [](const CaseSummary* each) {
    const Pair pair = each->definition().pair.value_or(Pair{});
    return std::pair(pair.from, pair.to);
  });
}

void RunSummary::find_mixed_launches() {
  std::map<std::string, std::map<LaunchMode, std::set<Bytes>>> sizes;
  for (const CaseSummary& each : cases) {
    Case definition = each.definition();
    definition.launch = LaunchMode::stream;
    sizes[group_name(definition)][each.definition().launch].insert(definition.size);
  }
  for (auto& [name, by_mode] : sizes) {
    if (by_mode.size() < 2) continue;
    std::set<Bytes> all = by_mode[LaunchMode::graph];
    const std::size_t of_both = all.size() + by_mode[LaunchMode::stream].size();
    all.merge(by_mode[LaunchMode::stream]);
    if (all.size() == of_both) mixed_launches_.insert(name);
  }
}

/// Names it as all of its curve.
Case RunSummary::as_shown(Case definition) const {
  Case streamed = definition;
  streamed.launch = LaunchMode::stream;
  return mixed_launches_.contains(group_name(streamed)) ? streamed : definition;
}

void RunSummary::add_steps(Curve& curve) const {
  std::vector<std::string> names;  // of the curve in each launch mode
  for (const CaseSummary* each : curve.cases) {
    const std::string name = curve_name(each->definition());
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  for (const std::string& variant : curve.variants) {
    for (const std::string& name : names) {
      for (const CurveStep& step : find_steps(curve_points(record, name, variant))) {
        curve.steps.emplace_back(variant, step);
      }
    }
  }
}

void RunSummary::add_groups() {
  for (const CaseSummary& each : cases) {
    const Case& definition = each.definition();
    if (is_training(definition.operation) || is_program(definition.operation)) continue;
    const std::string name = group_name(as_shown(definition));
    auto group = std::ranges::find(groups, name, [](const CaseGroup& own) { return own.all.name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {.all = {.name = name}});
    group->all.cases.push_back(&each);
  }
  for (CaseGroup& group : groups) {
    std::ranges::stable_sort(group.all.cases, {},
                             [](const CaseSummary* each) { return each->definition().size; });
    add_pairs(record, group);
    add_curves(group);
  }
}

/// Adds the group's cases by size for each pair, but for those that a table by pair shows.
void RunSummary::add_curves(CaseGroup& group) const {
  for (const CaseSummary* each : group.all.cases) {
    const std::string name = curve_name(as_shown(each->definition()));
    auto curve = std::ranges::find(group.curves, name, &Curve::name);
    if (curve == group.curves.end()) {
      curve = group.curves.insert(group.curves.end(), Curve{.name = name});
    }
    curve->cases.push_back(each);
  }
  const bool by_pair = !group.pairs.empty() && group.pairs.front().by_pair;
  std::erase_if(group.curves, [&](const Curve& curve) {
    return by_pair && curve.cases.size() == 1 &&
           std::ranges::count(group.pairs.front().cases.cases, curve.cases.front()) > 0;
  });
  for (Curve& curve : group.curves) {
    finish(curve);
    add_steps(curve);
  }
}

std::vector<const CaseSummary*> RunSummary::along_axis(const ProgramMetric& metric) const {
  std::vector<const CaseSummary*> along;
  for (const CaseSummary& each : cases) {
    if (each.definition().metric->name == metric.name) along.push_back(&each);
  }
  return along;
}

std::vector<const Curve*> RunSummary::curves() const {
  std::vector<const Curve*> all;
  for (const CaseGroup& group : groups) {
    for (const Curve& curve : group.curves) all.push_back(&curve);
  }
  return all;
}

const Curve* RunSummary::curve_with(const CaseSummary* of) const {
  const std::vector<const Curve*> all = curves();
  const auto found = std::ranges::find_if(
      all, [of](const Curve* curve) { return std::ranges::count(curve->cases, of) > 0; });
  return found == all.end() ? nullptr : *found;
}

std::vector<const PairsSummary*> RunSummary::pairs() const {
  std::vector<const PairsSummary*> all;
  for (const CaseGroup& group : groups) {
    for (const PairsSummary& pairs : group.pairs) all.push_back(&pairs);
  }
  return all;
}

void RunSummary::condense() {
  constexpr std::size_t kMostInFull = 40;  // some 15 lines each
  constexpr std::size_t kMostInAnswer = 12;
  is_condensed = curves().size() > kMostInFull;
  std::set<OperationKind> has_curve;
  std::set<OperationKind> has_group;
  for (CaseGroup& group : groups) {
    const OperationKind operation = group.all.definition().operation;
    const bool is_wrong = std::ranges::any_of(group.all.cases, &CaseSummary::has_wrong_data);
    const bool is_first = has_group.insert(operation).second;
    group.is_in_answer = groups.size() <= kMostInAnswer || is_first || is_wrong;
    for (Curve& curve : group.curves) {
      curve.is_in_full = has_curve.insert(operation).second || !is_condensed;
    }
  }
}

void RunSummary::add_trainings() {
  for (const CaseSummary& each : cases) {
    if (!may_stand_for_run(each.definition())) continue;
    (each.is_measured ? trainings : missing_trainings).push_back(&each);
  }
}

void RunSummary::add_health() {
  HealthSummary all;
  for (const Variant& variant : record.settings.variants) {
    health_of_variants.emplace_back(variant.name, HealthSummary{});
  }
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& entry : result.variants) {
      add_summary(all, entry.health);
      for (auto& [name, own] : health_of_variants) {
        if (name == entry.variant) add_summary(own, entry.health);
      }
    }
  }
  if (all == HealthSummary{}) {  // records of the time before evidence have it in samples alone
    for (const CaseResult& result : record.cases) {
      for (const Sample& sample : result.samples) add_sample(all, sample.health);
    }
  }
  const bool has_gpus = std::ranges::any_of(
      record.machine.ranks, [](const RankInfo& rank) { return rank.gpu.has_value(); });
  const bool has_times = std::ranges::any_of(cases, &CaseSummary::is_measured);
  if (all != HealthSummary{} || (has_gpus && has_times && !is_of_program())) health = all;
}

}  // namespace linkgain
