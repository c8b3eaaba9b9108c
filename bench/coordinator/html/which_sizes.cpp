#include "which_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

/// Lists the sizes of the row's curve at which its variants are compared.
std::vector<AnswerRow> sizes_of(const RunSummary& summary, const AnswerRow& row) {
  std::vector<AnswerRow> sizes;
  const Curve* const curve = summary.curve_with(row.of);
  if (curve == nullptr) return sizes;
  for (const CaseSummary* each : curve->cases) {
    const AnswerRow own{each, row.other};
    if (own.comparison() != nullptr && own.comparison()->has_speed_up()) sizes.push_back(own);
  }
  return sizes;
}

/// Says "1 MiB (4.23x)", by how much the faster one is.
std::string size_text(const AnswerRow& row) {
  const Estimate& ratio = *row.comparison()->ratio;
  const bool is_slower = row.comparison()->verdict == Verdict::slower;
  return fmt::format("{} ({})", readable_bytes(row.of->definition().size),
                     readable_ratio(is_slower ? inverse_of(ratio) : ratio).estimate);
}

/// Says "P2P on"; where that does not say against what "v28 than with v29".
std::string pair_text(const AnswerRow& row, Verdict verdict = Verdict::faster) {
  std::string better = variant_title(*row.of, 0);
  std::string other = variant_title(*row.of, row.other);
  if (verdict == Verdict::slower) better.swap(other);
  return row.of->contrast == Contrast::variant ? fmt::format("{} than with {}", better, other)
                                               : better;
}

/// Says "From 16 KiB to 512 KiB, most at 64 KiB (1.68x): there send-recv is faster with p2p than
/// with new." of the sizes around the largest change.
std::string at_some_sizes(const RunSummary& summary, const AnswerRow& most) {
  const std::vector<SizeRange> ranges = ranges_like(summary, most);
  const bool has_several =
      std::ranges::any_of(ranges, [](SizeRange each) { return each.size() > 1; });
  const std::string where =
      ranges.size() == 1 && !has_several ? fmt::format("At {}", size_text(most))
      : has_several
          ? fmt::format("From {}, most at {}", ranges_text(ranges, "from"), size_text(most))
          : fmt::format("At {}, most at {}", ranges_text(ranges, "at"), size_text(most));
  return fmt::format("{}: there {} is faster with {}.", where,
                     spoken_curve_of(summary, most.of->definition()),
                     pair_text(most, most.comparison()->verdict));
}

/// Says at which sizes the first variant is faster, of what several sizes were compared of.
std::string where_faster(const RunSummary& summary, const AnswerRow& shown) {
  const std::vector<AnswerRow> sizes = sizes_of(summary, shown);
  const auto is_faster = [&](const AnswerRow& each) {
    return changes_with(each, shown, Verdict::faster);
  };
  const std::string what = spoken_curve_of(summary, shown.of->definition());
  const std::string largest = size_text(sizes.back());
  std::size_t first = sizes.size();
  while (first > 0 && is_faster(sizes[first - 1])) --first;
  const auto most = std::ranges::max_element(sizes, {}, [&](const AnswerRow& each) {
    return is_faster(each) ? each.comparison()->ratio->value : 0.0;
  });
  const bool is_below = most < sizes.begin() + static_cast<std::ptrdiff_t>(first);
  if (is_below && is_faster(*most)) return at_some_sizes(summary, *most);
  if (first == sizes.size()) {
    const Comparison& comparison = *sizes.back().comparison();
    return fmt::format("Not shown: at the largest size of {}, {}, {}.", what, largest,
                       comparison.has_interval()
                           ? variant_title(*shown.of, 0) + " is not clearly faster"
                           : "one launch cannot show it");
  }
  if (first == 0) {
    return fmt::format(
        "At every measured size of {}, from {} to {}{}.", what, size_text(sizes.front()), largest,
        shown.of->contrast == Contrast::variant ? ": faster with " + pair_text(shown) : "");
  }
  return fmt::format("From {} on, up to {}: every such {} is faster with {}.",
                     size_text(sizes[first]), largest, what, pair_text(shown));
}

/// Says that, and at which sizes the first variant is slower by more than a few per cent.
std::string at_which_size(const RunSummary& summary, const AnswerRow& shown) {
  const Curve* const curve = summary.curve_with(shown.of);
  if (curve == nullptr || curve->cases.size() == 1) return at_some_sizes(summary, shown);
  const AnswerRow slower = most_changed(*curve, shown.other, Verdict::slower);
  if (slower.of == nullptr) return where_faster(summary, shown);
  const bool is_slower_only = std::ranges::none_of(
      sizes_of(summary, shown),
      [&](const AnswerRow& each) { return changes_with(each, shown, Verdict::faster); });
  return (is_slower_only ? "" : where_faster(summary, shown) + " ") +
         at_some_sizes(summary, slower);
}

/// Tells whether every interval of the curve leaves out that the variant takes a few per cent
/// longer; a case without one leaves it open.
bool excludes_cost(const Curve& curve, std::size_t other) {
  return std::ranges::all_of(curve.cases, [&](const CaseSummary* each) {
    const Comparison* const own = AnswerRow{each, other}.comparison();
    if (own == nullptr || !own->ratio) return true;
    return own->has_interval() && own->ratio->interval->high < 1.0 + kFewPerCent;
  });
}

/// Says what a setting gains that is shown to take a few per cent longer at no size: "With ctas32
/// no size is shown to take 3 % longer, and all-reduce of 256 KiB to 1 GiB is faster, most at 1 MiB
/// (1.11x)."; "no size takes" where intervals exclude it. Empty of others. Leaves kernels out,
/// which NCCL's settings do not change.
std::string gain_without_cost(const RunSummary& summary, std::size_t other) {
  std::vector<std::string> gains;
  std::string name;
  bool is_excluded = true;
  for (const CaseGroup& group : summary.groups) {
    if (!may_answer(summary, group.all.definition(), other)) continue;
    if (most_changed(group.all, other, Verdict::faster).of != nullptr) return {};
    is_excluded = is_excluded && excludes_cost(group.all, other);
    const AnswerRow most = most_changed(group.all, other, Verdict::slower);
    if (most.of == nullptr || !is_of_setting(most)) continue;
    gains.push_back(fmt::format("{} of {} is faster, most at {}",
                                spoken_curve_of(summary, most.of->definition()),
                                ranges_text(ranges_like(summary, most), "of"), size_text(most)));
    name = most.comparison()->other->variant;
  }
  return gains.empty() ? ""
                       : fmt::format("With {} no size {} {:.0f} % longer, and {}.", name,
                                     is_excluded ? "takes" : "is shown to take",
                                     100.0 * kFewPerCent, first_named(gains, 3, "; "));
}

}  // namespace

AnswerRow row_of_sizes(const RunSummary& summary, const Answer& answer) {
  for (const auto* rows : {&answer.spoken, &answer.rows}) {
    for (const AnswerRow& row : *rows) {
      if (sizes_of(summary, row).size() > 1) return row;
    }
  }
  return {};
}

WhichSizes which_sizes(const RunSummary& summary, const Answer& answer) {
  const AnswerRow row = row_of_sizes(summary, answer);
  if (row.of == nullptr) return {};
  WhichSizes which{at_which_size(summary, row), {}};
  for (const Curve* curve : curves_beside(summary, row)) {
    for (const Verdict verdict : {Verdict::faster, Verdict::slower}) {
      const AnswerRow most = most_changed(*curve, row.other, verdict);
      if (most.of == nullptr) continue;
      which.others.push_back(at_which_size(summary, most));
      break;
    }
  }
  std::vector<std::string> left_out;
  std::vector<std::string> gains;
  std::ptrdiff_t more = 0;
  for (std::size_t other = 1; other < row.of->variants.size(); ++other) {
    const std::string gain = other == row.other ? "" : gain_without_cost(summary, other);
    more += other == row.other || !gain.empty() ? 0 : 1;
    if (!gain.empty()) gains.push_back(gain);
  }
  if (more > 0) left_out.push_back(counted(more, "more variant", "more variants"));
  const bool leaves_kernels = std::ranges::any_of(summary.groups, [&](const CaseGroup& group) {
    return group.all.definition().kernel && !row.of->definition().kernel &&
           !may_answer(summary, group.all.definition(), row.other);
  });
  if (leaves_kernels) left_out.emplace_back("linkgain's kernels");
  if (!gains.empty()) {
    which.others.insert(which.others.begin(), which.verdict);
    which.verdict = fmt::format("{} Below: the sizes for {}.", fmt::join(gains, " "),
                                row.comparison()->other->variant);
  } else if (which.others.size() < 2) {
    if (!which.others.empty()) which.verdict += " " + which.others.front();
    which.others.clear();
  } else {
    which.verdict +=
        fmt::format(" Below: {} other {}.", which.others.size(), word_for_curves(summary, row));
  }
  if (!left_out.empty()) {
    which.verdict += fmt::format(" The tables by size have {}, too.", fmt::join(left_out, " and "));
  }
  return which;
}

}  // namespace linkgain
