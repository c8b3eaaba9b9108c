#include "kernel_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/core/units.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

struct Left {
  Bytes size;
  double ratio = 1.0;
};

/// The same case by NCCL or copy engine; null where the record has none.
const CaseResult* twin_of(const Record& record, Case definition) {
  definition.kernel = false;
  const auto found =
      std::find_if(record.cases.begin(), record.cases.end(),
                   [&](const CaseResult& result) { return result.definition == definition; });
  return found == record.cases.end() ? nullptr : &*found;
}

std::vector<Left> all_left(const Record& record, const Curve& curve, const std::string& variant) {
  std::vector<Left> all;
  for (const CaseResult* result : curve.cases) {
    const CaseResult* twin = twin_of(record, result->definition);
    const VariantResult* own = find_variant(*result, variant);
    const VariantResult* other = twin != nullptr ? find_variant(*twin, variant) : nullptr;
    if (own == nullptr || other == nullptr || !own->time || !other->time) continue;
    if (has_wrong_data(*own) || has_wrong_data(*other)) continue;
    all.push_back({result->definition.size, other->time->value / own->time->value});
  }
  std::sort(all.begin(), all.end(), [](const Left& a, const Left& b) { return a.size < b.size; });
  return all;
}

std::string line_of(std::string_view who, const std::vector<Left>& all,
                    const std::string& variant) {
  constexpr std::int64_t kApart = 16;
  std::vector<std::string> texts;
  std::int64_t next = 0;
  for (const Left& left : all) {
    if (left.size.value < next && left.size != all.back().size) continue;
    next = left.size.value * kApart;
    texts.push_back(fmt::format("{:.{}f}x at {}", left.ratio, left.ratio >= 9.995 ? 1 : 2,
                                readable_bytes(left.size)));
  }
  return fmt::format("- {} with {}: {}\n", who, variant, fmt::join(texts, ", "));
}

}  // namespace

std::string kernel_lines(const Record& record, const Curve& curve) {
  if (curve.cases.empty() || !curve.cases.front()->definition.kernel) return {};
  const bool copy = is_copy(curve.cases.front()->definition.operation);
  const std::string_view who = copy ? "By kernel, times as fast as by copy engine," : "NCCL leaves";
  std::string text;
  for (const std::string& variant : variant_names(curve.cases)) {
    const std::vector<Left> all = all_left(record, curve, variant);
    if (!all.empty()) text += line_of(who, all, variant);
  }
  return text;
}

}  // namespace linkgain
