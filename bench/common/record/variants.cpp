#include "linkgain/record/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/whole_number.hpp"

namespace linkgain {
namespace {

/// P2P off, and every other path to NVLink shut: NVLS and symmetric windows ignore
/// NCCL_P2P_DISABLE.
Environment without_nvlink(std::string_view nccl_version) {
  Environment environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  if (has_window_switch(nccl_version)) environment["NCCL_WIN_ENABLE"] = "0";
  return environment;
}

std::vector<Variant> mpi_variants(bool several_hosts) {
  const std::string near = several_hosts ? "self,vader,tcp" : "self,vader";
  std::vector<Variant> variants{
      {"shared-memory", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", near}}},
      {"tcp", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}}}};
  if (!several_hosts) variants[1].environment["OMPI_MCA_btl_tcp_if_include"] = "lo";
  return variants;
}

bool is_identifier_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

/// Starts like `VARIABLE=`.
bool is_assignment(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) || is_identifier_character(c);
  });
}

Environment parse_assignments(std::string_view text, std::string_view whole) {
  Environment environment;
  std::string last;
  const auto refuse = [whole] {
    throw UsageError(fmt::format("variant '{}' has no VARIABLE=value after its name", whole),
                     "write it as ring:NCCL_ALGO=Ring or ll:NCCL_ALGO=Ring,NCCL_PROTO=LL");
  };
  if (text.empty()) refuse();
  for (const std::string& part : split(text, ',')) {
    if (is_assignment(part)) {
      const std::size_t equals = part.find('=');
      last = part.substr(0, equals);
      environment[last] = part.substr(equals + 1);
    } else if (!last.empty()) {
      environment[last] += "," + part;
    } else {
      refuse();
    }
  }
  return environment;
}

}  // namespace

std::optional<int> nccl_version_code(std::string_view version) {
  constexpr int kMost = 9999;
  std::array<int, 3> numbers{};
  const std::vector<std::string> parts = split(version.substr(0, version.find('+')), '.');
  if (parts.size() < 2 || parts.size() > numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    numbers[i] = whole_number<int>(parts[i]).value_or(-1);
    if (numbers[i] < 0 || numbers[i] > kMost) return std::nullopt;
  }
  return numbers[0] * 10000 + numbers[1] * 100 + numbers[2];
}

bool has_window_switch(std::string_view nccl_version) {
  constexpr int kFirst = 22807;
  return nccl_version_code(nccl_version) >= kFirst;
}

bool has_log_switch(std::string_view nccl_version) {
  constexpr int kFirst = 22400;
  return nccl_version_code(nccl_version) >= kFirst;
}

std::vector<Variant> built_in_variants(const VariantContext& context) {
  if (context.backend == BackendKind::mpi) return mpi_variants(context.several_hosts);
  Environment net = without_nvlink(context.nccl_version);
  net["NCCL_SHM_DISABLE"] = "1";
  return {{"p2p", {}},
          {"host", without_nvlink(context.nccl_version)},
          {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}},
          {"net", net}};
}

std::vector<Variant> default_variants(const VariantContext& context) {
  std::vector<Variant> variants = built_in_variants(context);
  variants.resize(2);
  return variants;
}

Variant parse_variant(std::string_view text, const VariantContext& context) {
  const std::size_t colon = text.find(':');
  const std::string name{text.substr(0, colon)};
  if (name.empty()) {
    throw UsageError(fmt::format("variant '{}' has no name", text),
                     "write it as name:VARIABLE=value, for example ring:NCCL_ALGO=Ring");
  }
  if (!std::all_of(name.begin(), name.end(), is_identifier_character)) {
    throw UsageError(fmt::format("variant name '{}' may hold letters, digits, - and _ only", name));
  }
  const std::vector<Variant> known = built_in_variants(context);
  const auto match = std::find_if(known.begin(), known.end(),
                                  [&](const Variant& variant) { return variant.name == name; });
  if (colon != std::string_view::npos) {
    if (match != known.end()) {
      throw UsageError(fmt::format("variant '{}' is built in: give yours another name", name));
    }
    return {name, parse_assignments(text.substr(colon + 1), text)};
  }
  if (match != known.end()) return *match;
  std::vector<std::string_view> names;
  for (const Variant& variant : known) names.push_back(variant.name);
  throw UsageError(unknown_name("variant", name, names),
                   "a variant of your own is written name:VARIABLE=value");
}

void require_distinct(const std::vector<Variant>& variants) {
  if (variants.empty()) throw UsageError("no variant to measure");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (variants[i].name == variants[j].name) {
        throw UsageError(fmt::format("two variants are named '{}'", variants[i].name),
                         "give each variant a name of its own");
      }
    }
  }
}

}  // namespace linkgain
