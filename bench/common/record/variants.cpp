#include "linkgain/record/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// "2.28.7" as 22807, NCCL's own encoding; 0 where the text is no version.
int version_code(std::string_view version) {
  const std::vector<std::string> parts = split(version, '.');
  if (parts.size() < 2) return 0;
  const int patch = parts.size() > 2 ? std::stoi(parts[2]) : 0;
  return std::stoi(parts[0]) * 10000 + std::stoi(parts[1]) * 100 + patch;
}

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

/// What stands behind a variant's colon. `known`: the built-in ones, of which the first part may
/// name one.
Variant parse_parts(std::string_view text, std::string_view whole,
                    const std::vector<Variant>& known) {
  Variant variant;
  const auto refuse = [whole] {
    throw UsageError(fmt::format("variant '{}' has no VARIABLE=value after its name", whole),
                     "write it as ring:NCCL_ALGO=Ring or ll:NCCL_ALGO=Ring,NCCL_PROTO=LL");
  };
  if (text.empty()) refuse();
  std::string* last = nullptr;
  for (const std::string& part : split(text, ',')) {
    if (is_assignment(part)) {
      const std::size_t equals = part.find('=');
      const std::string key = part.substr(0, equals);
      last = key == "nccl"     ? &variant.nccl
             : key == "worker" ? &variant.worker
                               : &variant.environment[key];
      *last = part.substr(equals + 1);
      const bool path = last == &variant.nccl || last == &variant.worker;
      if (path && last->empty()) {
        throw UsageError(fmt::format("variant '{}': {}= names no path", whole, key));
      }
    } else if (last != nullptr) {
      *last += "," + part;
    } else {
      const auto base = std::ranges::find(known, part, &Variant::name);
      if (base == known.end() || !variant.name.empty()) refuse();
      variant.environment = base->environment;
      variant.name = base->name;
    }
  }
  return variant;
}

}  // namespace

bool has_window_switch(std::string_view nccl_version) {
  constexpr int kFirst = 22807;
  return version_code(nccl_version) >= kFirst;
}

bool has_log_switch(std::string_view nccl_version) {
  constexpr int kFirst = 22400;
  return version_code(nccl_version) >= kFirst;
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
    Variant variant = parse_parts(text.substr(colon + 1), text, known);
    if (match != known.end()) {
      if (!variant.environment.empty() || !variant.name.empty()) {
        throw UsageError(fmt::format("variant '{}' is built in: give yours another name", name));
      }
      variant.environment = match->environment;
    }
    variant.name = name;
    return variant;
  }
  if (match != known.end()) return *match;
  std::vector<std::string_view> names;
  for (const Variant& variant : known) names.push_back(variant.name);
  throw UsageError(unknown_name("variant", name, names),
                   "a variant of your own is written name:VARIABLE=value");
}

bool has_own_software(const std::vector<Variant>& variants) {
  return std::ranges::any_of(
      variants, [](const Variant& each) { return !each.nccl.empty() || !each.worker.empty(); });
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
