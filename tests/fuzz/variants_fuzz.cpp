// Variants as --variant has them, a line each, after a line with NCCL's version.
#include "fuzz_target.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {
namespace {

/// As --variant has one of the user's own.
std::string written(const Variant& variant) {
  std::string text = variant.name + ":";
  for (const auto& [name, value] : variant.environment) {
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
  built_in_variants(context);
  std::vector<Variant> variants;
  while (!text.empty()) {
    const std::string_view line = fuzz::take_line(text);
    fuzz::reads([&] { parse_variant(line, mpi); });
    variants.push_back(parse_variant(line, context));
    if (line.find(':') != std::string_view::npos) require_round_trip(variants.back(), context);
  }
  require_distinct(variants);
}

}  // namespace
}  // namespace linkgain

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return linkgain::fuzz::run(data, size, linkgain::read);
}
