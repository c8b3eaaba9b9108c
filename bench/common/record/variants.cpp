#include "linkgain/record/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/whole_number.hpp"

namespace linkgain {
namespace {

/// P2P off, and every other path to NVLink shut: NVLS and, from 2.28.7 on, symmetric windows ignore
/// NCCL_P2P_DISABLE. Which NCCL there will be is not known before workers run; an older one ignores
/// what it does not know.
Environment without_nvlink() {
  return {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_WIN_ENABLE", "0"}};
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

/// Starts like `VARIABLE=`, with a name that a shell takes.
bool is_assignment(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = part.substr(0, equals);
  return std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](char c) { return is_identifier_character(c) && c != '-'; });
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

/// `nccl=PATH` as the variable that has it opened: by workers their own, by programs the loader's.
void set_nccl(Environment& environment, BackendKind backend) {
  const auto given = environment.find("nccl");
  if (given == environment.end()) return;
  if (backend == BackendKind::mpi) {
    throw UsageError("a variant's nccl=PATH goes with the nccl backend");
  }
  if (given->second.empty()) {
    throw UsageError("a variant's nccl= names no library",
                     "give a file or its folder, as in new:nccl=/opt/nccl/lib/libnccl.so.2");
  }
  const std::filesystem::path path = std::filesystem::absolute(given->second);
  environment.erase(given);
  if (backend == BackendKind::exec) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(path, ignored);
    const std::string others = value_of(current_environment(), "LD_LIBRARY_PATH");
    environment["LD_LIBRARY_PATH"] =
        (folder ? path : path.parent_path()).string() + (others.empty() ? "" : ":" + others);
  } else {
    environment["LINKGAIN_NCCL"] = path.string();
  }
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
  Environment net = without_nvlink();
  net["NCCL_SHM_DISABLE"] = "1";
  return {{"p2p", {}},
          {"host", without_nvlink()},
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
    Environment environment = parse_assignments(text.substr(colon + 1), text);
    set_nccl(environment, context.backend);
    return {name, environment};
  }
  if (match != known.end()) return *match;
  std::vector<std::string_view> names;
  for (const Variant& variant : known) names.push_back(variant.name);
  throw UsageError(unknown_name("variant", name, names),
                   "a variant of your own is written name:VARIABLE=value");
}

std::string nccl_text(const OpenedNccl& nccl) {
  if (nccl.path.empty()) return nccl.version;
  return fmt::format("{}, {} ({})", nccl.version, nccl.path, nccl.found_by);
}

std::string nccl_text(const Software& software) {
  OpenedNccl nccl{software.nccl_library.value_or(""), software.nccl_path.value_or(""),
                  software.nccl_found_by.value_or("")};
  const std::string header = software.nccl_header.value_or("");
  if (nccl.version.empty() && !header.empty()) nccl.version = "not loaded";
  if (!header.empty() && header != software.nccl_library) {
    nccl.version += fmt::format(" (built with {})", header);
  }
  return nccl_text(nccl);
}

bool nccl_differs(const Settings& settings) {
  const std::vector<OpenedNccl>& all = settings.nccl_in_force;
  return std::ranges::any_of(all, [&](const OpenedNccl& each) {
    return each.path != all.front().path || each.version != all.front().version;
  });
}

void require_distinct(const std::vector<Variant>& variants) {
  // A job of each is up at once, of every launch.
  constexpr std::size_t kMost = 16;
  if (variants.empty()) throw UsageError("no variant to measure");
  if (variants.size() > kMost) {
    throw UsageError(fmt::format("{} variants are more than {}", variants.size(), kMost),
                     "measure them in several runs, each with the reference as its first");
  }
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
