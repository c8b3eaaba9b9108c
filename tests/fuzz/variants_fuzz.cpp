// Variants as --variant has them, a line each, after a line with NCCL's version.
#include <algorithm>
#include <vector>

#include "fuzz_target.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {
namespace {

/// Writes one of the user's own as --variant takes it.
std::string written(const Variant& variant) {
  Environment parts = variant.environment;
  if (!variant.nccl.empty()) parts["nccl"] = variant.nccl;
  if (!variant.worker.empty()) parts["worker"] = variant.worker;
  std::string text = variant.name + ":";
  for (const auto& [name, value] : parts) {
    if (!text.ends_with(':')) text += ',';
    text += name + "=" + value;
  }
  return text;
}

void require_round_trip(const Variant& variant, const VariantContext& context) {
  const auto parse = [&](const std::string& text) { return parse_variant(text, context); };
  fuzz::require_round_trip(variant, parse, written);
}

void read(std::string_view text) {
  nccl_version_code(fuzz::take_line(text));
  const VariantContext context{BackendKind::nccl, false};
  const VariantContext mpi{BackendKind::mpi, true};
  const std::vector<Variant> built_in = built_in_variants(context);
  std::vector<Variant> variants;
  while (!text.empty()) {
    const std::string_view line = fuzz::take_line(text);
    fuzz::reads([&] { parse_variant(line, mpi); });
    variants.push_back(parse_variant(line, context));
    const Variant& variant = variants.back();
    const bool named = std::ranges::count(built_in, variant.name, &Variant::name) > 0;
    const bool plain = variant == Variant{variant.name, {}};  // as mine:p2p
    if (!named && !plain) require_round_trip(variant, context);
  }
  require_distinct(variants);
}

}  // namespace
}  // namespace linkgain
