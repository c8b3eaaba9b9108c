#include "record_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr double kRounding = 1e-9;
/// Between that of a GPU, which times samples, and that of the run.
constexpr double kClocksDiffer = 0.01;

constexpr const char* kTakeACopy = "take an unchanged copy; a record is not made to be edited";

[[noreturn]] void refuse(const CaseResult& result, const std::string& what) {
  throw UsageError(fmt::format("{}: {}", case_name(result.definition), what), kTakeACopy);
}

bool agree(double a, double b) {
  return a == b || std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

bool agree(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || agree(*a, *b));
}

bool lies_within(double value, double least, double most) {
  return value >= least * (1.0 - kRounding) && value <= most * (1.0 + kRounding);
}

bool goes_on(const Record& record) {
  return std::ranges::find(record.warnings, "resumed", &Warning::code) != record.warnings.end();
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

/// Readers take a variant's path from it. What a sum of unlike plans moves is not known.
void require_evidence(const CaseResult& result) {
  for (const VariantResult& variant : result.variants) {
    if (!variant.evidence) continue;
    const TrafficEvidence& evidence = *variant.evidence;
    const std::optional<double> share = evidence.nvlink_share();
    const bool judged = evidence.reason.empty() && share && std::isfinite(*share);
    if (evidence.judged ? !judged : evidence.reason.empty()) {
      refuse(result, fmt::format("whether the bytes of {} are judged is not what their reason says",
                                 variant.variant));
    }
    const std::optional<double> bytes = expected_bytes(result.definition, evidence.plan);
    if (!bytes || !evidence.expected) continue;
    if (agree(*evidence.expected, *bytes * static_cast<double>(evidence.operations))) continue;
    refuse(result, fmt::format("the expected bytes of {} are not those of its operations",
                               variant.variant));
  }
}

/// A run that goes on did not always count its earlier parts; a program's metric may be no time.
void require_within_run(const Record& record, const CaseResult& result) {
  if (!record.wall_seconds || goes_on(record) || is_program(result.definition.operation)) return;
  for (const Sample& sample : result.samples) {
    const double time = sample.time().value * static_cast<double>(sample.operations);
    if (time <= *record.wall_seconds * (1.0 + kClocksDiffer)) continue;
    refuse(result, fmt::format("a sample of {:g} s is longer than the run of {:g} s", time,
                               *record.wall_seconds));
  }
}

void require_intervals(const CaseResult& result) {
  for (const auto& [variant, ratio] : result.ratios) {
    if (!ratio.interval) continue;
    if (!lies_within(ratio.value, ratio.interval->low, ratio.interval->high)) {
      refuse(result, fmt::format("the ratio of {} is outside its interval", variant));
    }
  }
}

void require_verifications(const CaseResult& result) {
  for (const VariantResult& variant : result.variants) {
    const auto& verification = variant.verification;
    if (!verification) continue;
    if (verification->wrong > verification->checked) {
      refuse(result, fmt::format("{} of {} verified elements of {} are wrong", verification->wrong,
                                 verification->checked, variant.variant));
    }
    // Another bound says nothing here: that of GPUs is a share of what was expected.
    const double error = verification->largest_error;
    const bool right = std::isfinite(error) && (error == 0.0 || verification->bound > 0.0);
    if (verification->wrong > 0 || right) continue;
    refuse(result, fmt::format("no element of {} is wrong, and the largest error is {}",
                               variant.variant, error));
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

/// Samples of a variant can be no more than there are.
void require_counts(const CaseResult& result) {
  std::vector<int> samples(result.variants.size(), 0);
  for (const Sample& sample : result.samples)
    ++samples.at(static_cast<std::size_t>(sample.variant));
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const VariantResult& variant = result.variants[i];
    const HealthSummary& health = variant.health;
    const bool possible =
        health.samples <= samples[i] && health.unhealthy_samples <= health.samples &&
        health.power_capped_samples <= health.samples && variant.disturbed_samples <= samples[i];
    if (!possible) {
      refuse(result, fmt::format("{} has fewer samples than are said to be throttled, capped or "
                                 "disturbed",
                                 variant.variant));
    }
  }
}

/// What rows of a soak say must be what its counters do.
void require_errors(const LinkErrors& errors) {
  using Key = std::tuple<int, std::optional<int>, std::optional<int>, ErrorKind>;
  const auto key_of = [](const ErrorCounter& counter) {
    return Key{counter.gpu, counter.link, counter.peer, counter.kind};
  };
  std::map<Key, std::int64_t> left;
  std::int64_t total = 0;
  for (const CountedErrors& each : errors.counters) {
    // So that no sum of them can overflow.
    if (each.growth > std::numeric_limits<std::int64_t>::max() - total) {
      throw UsageError(fmt::format("{} cannot be", describe(each.counter, each.growth)),
                       kTakeACopy);
    }
    total += each.growth;
    left[key_of(each.counter)] += each.growth;
  }
  const auto refuse_counter = [](const ErrorCounter& counter) {
    throw UsageError(
        fmt::format("errors of {} are not as many as between its readings", place_of(counter)),
        kTakeACopy);
  };
  for (const ErrorGrowth& each : errors.grown) {
    std::int64_t& own = left[key_of(each.counter)];
    if (each.growth > own) refuse_counter(each.counter);
    own -= each.growth;
  }
  for (const CountedErrors& each : errors.counters) {
    if (left.at(key_of(each.counter)) != 0) refuse_counter(each.counter);
  }
}

/// The launches of a soak follow each other. A run that goes on may measure an earlier one again,
/// and older versions counted the time between its parts.
void require_begins(const Record& record) {
  const std::vector<double>& begins = record.launch_begins_s;
  if (goes_on(record)) return;
  const auto refuse_launch = [](std::size_t launch, const std::string& what) {
    throw UsageError(fmt::format("launch {} begins {}", launch + 1, what), kTakeACopy);
  };
  for (std::size_t i = 0; i < begins.size(); ++i) {
    if (i > 0 && (begins[i] == 0.0 || begins[i] < begins[i - 1])) {
      refuse_launch(i, fmt::format("before launch {}", i));
    }
    if (record.wall_seconds && begins[i] > *record.wall_seconds * (1.0 + kRounding)) {
      refuse_launch(i, "after the end of the run");
    }
  }
}

struct Range {
  double least = 0.0;
  double most = 0.0;
};

/// Of each variant's samples; both 0 where there are none.
std::vector<Range> ranges_of(const CaseResult& result) {
  std::vector<Range> ranges(result.variants.size());
  for (const Sample& sample : result.samples) {
    Range& range = ranges.at(static_cast<std::size_t>(sample.variant));
    const double time = sample.time().value;
    if (!(time > 0.0)) continue;
    range.least = range.most > 0.0 ? std::min(range.least, time) : time;
    range.most = std::max(range.most, time);
  }
  return ranges;
}

std::size_t place_of(const CaseResult& result, const RatioResult& ratio) {
  const auto own = std::ranges::find(result.variants, ratio.variant, &VariantResult::variant);
  if (own == result.variants.end()) {
    refuse(result, fmt::format("a ratio is of {}, which is no variant", ratio.variant));
  }
  return static_cast<std::size_t>(own - result.variants.begin());
}

/// Who leaves samples out must not be believed without them.
void require_samples(const CaseResult& result, const std::vector<Range>& ranges) {
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const VariantResult& variant = result.variants[i];
    const bool has_numbers =
        variant.time || variant.algbw || variant.busbw || variant.skew || variant.training;
    if (!has_numbers || ranges[i].most > 0.0) continue;
    refuse(result, fmt::format("there are no samples of {}, which has results", variant.variant));
  }
  for (const RatioResult& ratio : result.ratios) {
    if (ranges[place_of(result, ratio)].most > 0.0 && ranges.front().most > 0.0) continue;
    refuse(result, fmt::format("there are no samples for the ratio of {}", ratio.variant));
  }
}

/// A ratio has no more launches than either of its variants has samples of.
void require_launches_of_ratios(const CaseResult& result) {
  std::vector<std::set<int>> launches(result.variants.size());
  for (const Sample& sample : result.samples) {
    launches.at(static_cast<std::size_t>(sample.variant)).insert(sample.launch);
  }
  for (const RatioResult& ratio : result.ratios) {
    const auto most = static_cast<int>(
        std::min(launches.front().size(), launches[place_of(result, ratio)].size()));
    if (ratio.ratio.replicates <= most) continue;
    refuse(result, fmt::format("the ratio of {} is of {} launches, its samples are of {}",
                               ratio.variant, ratio.ratio.replicates, most));
  }
}

/// Of a case that has all the samples it needs.
void require_within_samples(const CaseResult& result, const std::vector<Range>& ranges) {
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const VariantResult& variant = result.variants[i];
    if (!variant.time || lies_within(variant.time->value, ranges[i].least, ranges[i].most)) {
      continue;
    }
    refuse(result, fmt::format("the time of {} is outside its samples", variant.variant));
  }
  for (const RatioResult& ratio : result.ratios) {
    const Range& own = ranges[place_of(result, ratio)];
    const Range& first = ranges.front();
    const double least = own.least / first.most;
    if (lies_within(ratio.ratio.value, least, own.most / first.least)) continue;
    refuse(result, fmt::format("the ratio of {} is not that of its samples", ratio.variant));
  }
}

void require_exact(const CaseResult& result) {
  CaseResult derived = result;
  summarise(derived);
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const VariantResult& own = result.variants[i];
    const VariantResult& other = derived.variants[i];
    const bool times = own.time.has_value() == other.time.has_value() &&
                       (!own.time || agree(own.time->value, other.time->value));
    if (times && agree(own.algbw, other.algbw) && agree(own.busbw, other.busbw) &&
        agree(own.skew, other.skew)) {
      continue;
    }
    refuse(result, fmt::format("time or bandwidth of {} is not that of its samples", own.variant));
  }
  const bool ratios = std::ranges::equal(
      result.ratios, derived.ratios, [](const RatioResult& a, const RatioResult& b) {
        return a.variant == b.variant && agree(a.ratio.value, b.ratio.value);
      });
  if (!ratios) refuse(result, "its ratios are not those of its samples");
}

/// A run may end worse than by what it found: by a signal, or where its report was lost.
void require_exit_code(const Record& record) {
  const auto warns_of = [&](std::initializer_list<std::string_view> codes) {
    return std::ranges::any_of(record.warnings, [&](const Warning& warning) {
      return std::ranges::find(codes, warning.code) != codes.end();
    });
  };
  const bool others = record.neighbours && !record.neighbours->seen.empty();
  const bool unhealthy = record.settings.require_healthy &&
                         (others || warns_of({"unhealthy-samples", "health-not-measured",
                                              "link-errors", "soak-drift"}));
  const ExitCode least = exit_code_of(record, warns_of({"wrong-path", "exec-path"}), unhealthy);
  // A program's run may be whole when the signal comes.
  const bool by_signal = record.exit_code >= kSignalExitBase &&
                         (record.status != RunStatus::complete || record.settings.program);
  const auto is = [&](ExitCode code) { return record.exit_code == static_cast<int>(code); };
  // Older versions had other warnings of paths and health.
  const bool by_warnings =
      least == ExitCode::success && (is(ExitCode::wrong_path) || is(ExitCode::unhealthy));
  if (is(least) || is(ExitCode::incomplete) || by_signal || by_warnings) return;
  throw UsageError(fmt::format("its exit_code is {}, and what it found gives {}", record.exit_code,
                               static_cast<int>(least)),
                   kTakeACopy);
}

}  // namespace

Agreement agreement_of(const Record& record, bool digested) {
  const bool is_older = !digested && record.settings.software_in_force.empty();
  return is_older ? Agreement::within_samples : Agreement::exact;
}

void require_consistent(const Record& record, Agreement agreement) {
  require_each_once(record);
  require_exit_code(record);
  if (record.link_errors) require_errors(*record.link_errors);
  require_begins(record);
  require_ranks(record.machine.ranks);
  require_links(record.machine);
  for (const CaseResult& result : record.cases) {
    require_kind(result, record.settings.program.has_value());
    require_variants(result, record.settings.variants);
    require_launches(result, record.settings.launches);
    require_within_run(record, result);
    require_evidence(result);
    require_intervals(result);
    require_verifications(result);
    const std::vector<Range> ranges = ranges_of(result);
    require_samples(result, ranges);
    require_launches_of_ratios(result);
    require_counts(result);
    if (agreement == Agreement::exact) {
      require_exact(result);
    } else {
      require_within_samples(result, ranges);
    }
  }
}

}  // namespace linkgain
