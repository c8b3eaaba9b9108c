#include "linkgain/summary/pair_matrix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

std::vector<std::string> variants_of(const PairFamily& family) {
  std::vector<std::string> names;
  for (const CaseResult* result : family.cases) {
    for (const VariantResult& variant : result->variants) {
      if (std::ranges::find(names, variant.variant) == names.end()) {
        names.push_back(variant.variant);
      }
    }
  }
  return names;
}

/// Gives the case from one rank to the other, or of a symmetric family the one that stands for it.
const CaseResult* find_case(const PairFamily& family, int from, int to) {
  const auto joins = [&](int a, int b) {
    const auto found = std::ranges::find_if(family.cases, [&](const CaseResult* result) {
      return result->definition.pair->from == a && result->definition.pair->to == b;
    });
    return found == family.cases.end() ? nullptr : *found;
  };
  const CaseResult* own = joins(from, to);
  return own == nullptr && family.symmetric() ? joins(to, from) : own;
}

PairState state_of(const VariantResult* result) {
  if (result == nullptr) return PairState::not_measured;
  if (result->skipped) return PairState::skipped;
  if (has_wrong_data(*result)) return PairState::wrong_data;
  return result->time ? PairState::measured : PairState::not_measured;
}

void fill(PairEntry& entry, const CaseResult& result, const std::string& variant) {
  const auto named = [&](const auto& each) { return each.variant == variant; };
  const auto own = std::ranges::find_if(result.variants, named);
  const auto ratio = std::ranges::find_if(result.ratios, named);
  entry.result = own == result.variants.end() ? nullptr : &*own;
  entry.state = state_of(entry.result);
  entry.ratio = ratio == result.ratios.end() ? nullptr : &ratio->ratio;
}

PairEntry entry_of(const Record& record, const PairFamily& family, const std::string& variant,
                   int from, int to) {
  PairEntry entry;
  entry.from = from;
  entry.to = to;
  if (from == to) return entry;
  const PairLink* link = find_link(record.machine, from, to);
  entry.label = link != nullptr ? label_of(*link) : std::string();
  if (const CaseResult* result = find_case(family, from, to)) fill(entry, *result, variant);
  return entry;
}

PairMatrix matrix_of(const Record& record, const PairFamily& family, const std::string& variant) {
  PairMatrix matrix;
  matrix.variant = variant;
  matrix.ranks = family.definition().ranks;
  bool bandwidths = true;
  for (int from = 0; from < matrix.ranks; ++from) {
    for (int to = 0; to < matrix.ranks; ++to) {
      matrix.entries.push_back(entry_of(record, family, variant, from, to));
      const PairEntry& entry = matrix.entries.back();
      bandwidths = bandwidths && (entry.state != PairState::measured || entry.result->busbw);
    }
  }
  matrix.by_bandwidth = bandwidths && family.definition().size >= kBandwidthSize;
  return matrix;
}

/// Gives each pair that was measured once, the one that takes longest first.
std::vector<const PairEntry*> slowest_first(const PairMatrix& matrix, const PairFamily& family) {
  std::vector<const PairEntry*> measured;
  for (const PairEntry& entry : matrix.entries) {
    const bool mirrored = family.symmetric() && entry.from > entry.to;
    if (entry.state == PairState::measured && !mirrored) measured.push_back(&entry);
  }
  std::ranges::stable_sort(measured, [](const PairEntry* a, const PairEntry* b) {
    return a->result->time > b->result->time;
  });
  return measured;
}

}  // namespace

std::optional<double> WeakestPair::shortfall(bool by_bandwidth) const {
  if (!median) return std::nullopt;
  return by_bandwidth ? 1.0 - value / *median : value / *median - 1.0;
}

const PairEntry& PairMatrix::at(int from, int to) const {
  if (from < 0 || from >= ranks || to < 0 || to >= ranks) {
    throw std::out_of_range("no such pair of ranks");
  }
  return entries[static_cast<std::size_t>(from * ranks + to)];
}

std::optional<double> PairMatrix::value(const PairEntry& entry) const {
  if (entry.state != PairState::measured) return std::nullopt;
  return by_bandwidth ? entry.result->busbw : std::optional(entry.result->time->value);
}

std::vector<PairMatrix> pair_matrices(const Record& record, const PairFamily& family) {
  std::vector<PairMatrix> matrices;
  for (const std::string& variant : variants_of(family)) {
    matrices.push_back(matrix_of(record, family, variant));
  }
  return matrices;
}

std::string_view why_no_value(PairState state) {
  static constexpr std::array<Named<PairState>, 3> kReasons{{
      {PairState::not_measured, "not measured"},
      {PairState::skipped, "skipped"},
      {PairState::wrong_data, "WRONG DATA"},
  }};
  const auto* const reason = std::ranges::find(kReasons, state, &Named<PairState>::value);
  return reason == kReasons.end() ? "" : reason->name;
}

std::vector<WeakestPair> weakest_pairs(const PairMatrix& matrix, const PairFamily& family) {
  const std::vector<const PairEntry*> measured = slowest_first(matrix, family);
  if (measured.size() < 2) return {};
  std::vector<WeakestPair> weakest;
  for (const PairEntry* entry : measured) {
    const auto alike = [&](const auto& other) { return other.label == entry->label; };
    if (std::ranges::any_of(weakest, alike)) continue;
    std::vector<double> others;
    for (const PairEntry* other : measured) {
      if (other != entry && alike(*other)) others.push_back(matrix.value(*other).value());
    }
    WeakestPair pair{entry->from, entry->to, entry->label, matrix.value(*entry).value(), {}, 0};
    pair.others = static_cast<int>(others.size());
    if (!others.empty()) pair.median = median(others);
    weakest.push_back(pair);
  }
  return weakest;
}

}  // namespace linkgain
