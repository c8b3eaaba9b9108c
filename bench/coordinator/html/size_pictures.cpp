#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "run_pictures.hpp"

namespace linkgain {
namespace {

/// Curves that share a picture: they differ in the run, and in whether linkgain's kernel does it.
struct Family {
  struct Member {
    const ShownRun* run = nullptr;
    const Curve* curve = nullptr;
  };
  std::string name;
  std::string label{};   ///< in headings; unlike the name, without what is the default
  bool in_full = false;  ///< stands for its operation where the summary is condensed
  std::vector<Member> members{};

  /// Counts variants of members before this one, whose styles come first.
  std::size_t first_style(const Member& member) const {
    std::size_t styles = 0;
    for (const Member* each = members.data(); each != &member; ++each) {
      styles += each->curve->variants.size();
    }
    return styles;
  }
  Case definition() const { return members.front().curve->definition(); }
  bool has_kernels() const {
    return std::ranges::any_of(members,
                               [](const Member& each) { return each.curve->definition().kernel; });
  }
  std::size_t sizes() const {
    std::size_t most = 0;
    for (const Member& each : members) most = std::max(most, each.curve->cases.size());
    return most;
  }
};

void add_curve(std::vector<Family>& families, const ShownRun& run, const Curve& curve) {
  Case definition = curve.definition();
  definition.kernel = false;
  const std::string name = curve_name(definition);
  const auto known = std::ranges::find(families, name, &Family::name);
  Family& family =
      known == families.end()
          ? families.emplace_back(Family{.name = name, .label = curve_label(definition)})
          : *known;
  family.in_full = family.in_full || curve.is_in_full;
  family.members.push_back({&run, &curve});
}

/// Says of how many ranks curves are that differ in it.
void name_ranks(std::vector<Family>& families) {
  std::map<std::string, std::set<int>> ranks;
  for (const Family& family : families) ranks[family.label].insert(family.definition().ranks);
  for (Family& family : families) {
    if (ranks[family.label].size() == 1) continue;
    family.label += fmt::format(", {} ranks", family.definition().ranks);
  }
}

std::vector<Family> families_of(std::span<const ShownRun> runs) {
  std::vector<Family> families;
  for (const ShownRun& run : runs) {
    for (const Curve* curve : run.summary->curves()) add_curve(families, run, *curve);
  }
  std::erase_if(families, [](const Family& family) { return family.sizes() < 2; });
  name_ranks(families);
  return families;
}

std::string library_of(const Family& family) {
  if (is_copy(family.definition().operation)) return "copy engine";
  const Record& record = family.members.front().run->summary->record;
  return record.settings.backend == BackendKind::mpi ? "MPI" : "NCCL";
}

/// Says "p2p", "node1: linkgain's kernel, P2P on".
std::string series_name(const Family& family, const Family::Member& member,
                        const std::string& variant) {
  const std::string run = member.run->name.empty() ? "" : member.run->name + ": ";
  if (!family.has_kernels()) return run + variant;
  const bool is_kernel = member.curve->definition().kernel;
  return fmt::format("{}{}, {}", run, is_kernel ? "linkgain's kernel" : library_of(family),
                     variant);
}

/// Calls a variant of a curve as the tables of the answer do.
std::string title_of(const Curve& curve, const std::string& variant) {
  for (const CaseSummary* const each : curve.cases) {
    const VariantSummary* const found = each->find(variant);
    if (found == nullptr) continue;
    const auto place = found->result - each->result->variants.data();
    return variant_title(*each, static_cast<std::size_t>(place));
  }
  return variant;
}

Axis size_axis() { return {"message size", Quantity::bytes, Spacing::logarithmic}; }

void add_series(Plot& plot, Plot::Series series) {
  if (!series.points.empty()) plot.series.push_back(std::move(series));
}

enum class Shown { time, bandwidth };

std::optional<Plot::Point> point_of(const Case& definition, const VariantSummary& variant,
                                    Shown shown) {
  if (variant.wrong_data || !variant.result->time) return std::nullopt;
  const std::optional<Interval>& interval = variant.time_interval;
  Plot::Point point{.x = static_cast<double>(definition.size.value),
                    .y = variant.result->time->value};
  point.interval = interval;
  if (shown == Shown::time) return point;
  if (!variant.result->busbw) return std::nullopt;
  point.y = *variant.result->busbw;
  if (interval) {
    point.interval = Interval{bus_bandwidth(definition, Seconds{interval->high}),
                              bus_bandwidth(definition, Seconds{interval->low})};
  }
  return point;
}

/// Tells whether the variant's curve is that of the first one over again: linkgain's kernel heeds
/// no variable of NCCL's.
bool is_of_same_kernel(const Family::Member& member, const std::string& name) {
  const Curve& curve = *member.curve;
  if (!curve.definition().kernel || name == curve.variants.front()) return false;
  const VariantSummary* const first = curve.cases.back()->find(curve.variants.front());
  const VariantSummary* const own = curve.cases.back()->find(name);
  const auto worker_of = [&](const VariantSummary* each) {
    const std::vector<Variant>& variants = member.run->summary->record.settings.variants;
    return std::ranges::find(variants, each->result->variant, &Variant::name)->worker;
  };
  return first != nullptr && own != nullptr && first->result->path == own->result->path &&
         worker_of(first) == worker_of(own);
}

void add_variants(Plot& plot, const Family& family, Shown shown) {
  for (const Family::Member& member : family.members) {
    std::size_t style = family.first_style(member);
    for (const std::string& name : member.curve->variants) {
      if (is_of_same_kernel(member, name)) continue;
      Plot::Series series{.name = series_name(family, member, title_of(*member.curve, name)),
                          .style = style++};
      for (const CaseSummary* each : member.curve->cases) {
        const VariantSummary* variant = each->find(name);
        if (variant == nullptr) continue;
        if (const auto point = point_of(each->definition(), *variant, shown)) {
          series.points.push_back(*point);
        }
      }
      add_series(plot, std::move(series));
    }
  }
}

/// Draws what the paths of the largest size can carry, each once.
void add_limits(Plot& plot, const Family& family) {
  std::set<LimitKind> known;
  for (const Family::Member& member : family.members) {
    const CaseSummary& largest = *member.curve->cases.back();
    for (const VariantSummary& variant : largest.variants) {
      if (!variant.result->time) continue;
      const std::optional<Limit> limit =
          limit_of(member.run->summary->record.machine, largest.definition(), variant.result->path);
      if (!limit) continue;
      const bool is_nvlink = variant.result->path == Path::nvlink;
      // The first one's of several runs: the same path differs by little between like machines.
      if (known.insert(limit->kind).second) {
        plot.limits.push_back({is_nvlink ? "NVLink" : "host memory", limit->gb_per_s});
      }
    }
  }
}

void add_speed_ups(Plot& plot, const Family& family) {
  for (const Family::Member& member : family.members) {
    const std::vector<std::string>& variants = member.curve->variants;
    const bool of_settings = member.run->summary->tuning.has_value();
    for (std::size_t i = 1; i < variants.size(); ++i) {
      if (is_of_same_kernel(member, variants[i])) continue;
      std::string own = title_of(*member.curve, variants.front());
      std::string other = title_of(*member.curve, variants[i]);
      if (of_settings) std::swap(own, other);
      Plot::Series series{.name = series_name(family, member, own) + " against " + other,
                          .style = family.first_style(member) + (variants.size() > 2 ? i : 0)};
      for (const CaseSummary* each : member.curve->cases) {
        for (const Comparison& comparison : each->comparisons) {
          if (!comparison.has_speed_up() || comparison.other->variant != variants[i]) continue;
          const Estimate ratio = of_settings ? inverse_of(*comparison.ratio) : *comparison.ratio;
          series.points.push_back(
              {static_cast<double>(each->definition().size.value), ratio.value, ratio.interval});
        }
      }
      add_series(plot, std::move(series));
    }
  }
}

/// Shows how many times as long the library takes as linkgain's kernel does.
void add_headroom(Plot& plot, const Family& family) {
  for (const Family::Member& member : family.members) {
    std::size_t style = family.first_style(member);
    for (const std::string& name : member.curve->variants) {
      Plot::Series series{.name = title_of(*member.curve, name), .style = style++};
      for (const CaseSummary* each : member.curve->cases) {
        const VariantSummary* const variant = each->find(name);
        if (variant == nullptr || !variant->library_ratio) continue;
        series.points.push_back({static_cast<double>(each->definition().size.value),
                                 variant->library_ratio->value, variant->library_ratio->interval});
      }
      add_series(plot, std::move(series));
    }
  }
}

/// Shows how many times as long NCCL takes as its best setting, linkgain's kernel and the floor do.
void add_steps(Plot& plot, const HeadroomCurve& curve) {
  Plot::Series best{.name = "NCCL, best setting", .style = 1};
  Plot::Series kernel{.name = "linkgain's kernel", .style = 0};
  Plot::Series floor{.name = "floor: what the link allows", .style = 2};
  bool has_setting = false;
  for (const HeadroomRow& row : curve.rows) {
    const auto size = static_cast<double>(parse_case_name(row.name).size.value);
    const auto add = [&](Plot::Series& series, const HeadroomStep* step) {
      if (step == nullptr) return;
      const Estimate ratio = step->whole.value_or(Estimate{1.0, {}, 0});
      series.points.push_back({size, ratio.value, ratio.interval});
    };
    add(best, &best_of_nccl(row));
    add(kernel, find_step(row, HeadroomStation::kernel));
    add(floor, find_step(row, HeadroomStation::floor));
    has_setting = has_setting || best_of_nccl(row).whole;
  }
  if (!has_setting) best.points.clear();
  for (Plot::Series* const each : {&floor, &kernel, &best}) add_series(plot, std::move(*each));
}

/// Draws a family's curves: first what it answers, of a run for headroom that, then what that is
/// made of.
std::vector<Picture> pictures_of(const Family& family, const HeadroomCurve* steps,
                                 bool is_for_headroom) {
  const Case definition = family.definition();
  const auto plot_of = [&](std::string_view what, std::string unit, Quantity quantity) {
    return Plot{.title = fmt::format("{}: {}", family.label, what),
                .x = size_axis(),
                .y = {std::move(unit), quantity, Spacing::logarithmic}};
  };
  Plot headroom = plot_of("headroom", "NCCL's time over that of each", Quantity::ratio);
  if (steps != nullptr) add_steps(headroom, *steps);
  Plot by_variant =
      plot_of(fmt::format("headroom, {}'s time over the kernel's", library_of(family)),
              "times as long", Quantity::ratio);
  add_headroom(by_variant, family);
  headroom.reference = by_variant.reference = 1.0;
  if (steps == nullptr) std::swap(headroom, by_variant);
  const bool both = definition.pair && definition.pair->both;
  Plot bandwidth = plot_of("bus bandwidth", both ? "GB/s each way" : "GB/s", Quantity::bandwidth);
  bandwidth.y.spacing = Spacing::linear;
  if (moves_its_size(definition.operation) && !is_latency(definition.operation)) {
    add_variants(bandwidth, family, Shown::bandwidth);
    add_limits(bandwidth, family);
    if (!bandwidth.limits.empty()) bandwidth.y.title += ", dashed: limits of the paths";
  }
  Plot time = plot_of("time of one operation", "time", Quantity::seconds);
  add_variants(time, family, Shown::time);
  Plot speed_up = plot_of("speed-up", "times as fast", Quantity::ratio);
  add_speed_ups(speed_up, family);
  speed_up.reference = 1.0;
  std::vector<Plot*> plots{&speed_up, &bandwidth, &headroom, &by_variant, &time};
  if (is_for_headroom) std::swap(plots[0], plots[2]);
  std::vector<Picture> pictures;
  for (Plot* const plot : plots) {
    if (plot->series.empty()) continue;
    pictures.push_back(picture_of(*plot));
  }
  return pictures;
}

}  // namespace

SizePictures size_pictures(std::span<const ShownRun> runs, const CaseSummary* answer) {
  constexpr std::size_t kMostInAnswer = 2;
  const std::vector<Family> families = families_of(runs);
  const bool are_for_headroom = std::ranges::all_of(
      runs, [](const ShownRun& run) { return answer_of(*run.summary).begins_with_headroom; });
  std::vector<HeadroomCurve> curves;
  if (runs.size() == 1) curves = headroom_curves(*runs.front().summary);
  auto first = families.begin();
  if (answer != nullptr) {
    first = std::ranges::find_if(families, [=](const Family& family) {
      return std::ranges::any_of(family.members, [=](const Family::Member& member) {
        return std::ranges::count(member.curve->cases, answer) > 0;
      });
    });
  }
  SizePictures shown;
  std::vector<Picture> others;
  std::vector<Picture> more;
  for (const Family& family : families) {
    const bool is_first = first != families.end() && &family == &*first;
    const auto steps = std::ranges::find(curves, family.name, [](const HeadroomCurve& curve) {
      return curve_name(curve.definition);
    });
    for (Picture& picture :
         pictures_of(family, steps == curves.end() ? nullptr : &*steps, are_for_headroom)) {
      std::vector<Picture>& place = is_first && shown.answer.size() < kMostInAnswer ? shown.answer
                                    : family.in_full                                ? others
                                                                                    : more;
      place.push_back(std::move(picture));
    }
  }
  shown.others =
      figures(others, "size") + folded("Other types, reductions and forms", figures(more, "more"));
  return shown;
}

}  // namespace linkgain
