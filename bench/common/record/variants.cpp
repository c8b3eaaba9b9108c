#include "linkgain/record/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

/// Files are named by it, of at most 255 bytes with what else is in their names.
constexpr std::size_t kLongestName = 64;

/// Returns the variables that turn P2P off and shut every other path to NVLink: NVLS and, from
/// 2.28.7 on, symmetric windows ignore NCCL_P2P_DISABLE. Which NCCL there will be is not known
/// before workers run; an older one ignores what it does not know.
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

/// Tells whether it is a variable's name in capitals.
bool is_in_capitals(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

/// Returns the variable that a part "-NAME" takes away; empty for every other part. In capitals, as
/// the value before it may go on with ",-rpath".
std::string_view unset_by(std::string_view part) {
  if (!part.starts_with('-')) return {};
  part.remove_prefix(1);
  return is_in_capitals(part) ? part : std::string_view{};
}

/// Says how to write a variant that begins with "NAME=": "ll=NCCL_PROTO=LL" was meant as
/// "ll:NCCL_PROTO=LL", and "p2p,ll=NCCL_PROTO=LL" as two.
std::string advice_without_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view rest = text.substr(equals + 1);
  const std::size_t second = rest.find('=');
  const bool is_name = second != std::string_view::npos && !is_in_capitals(name) &&
                       is_in_capitals(rest.substr(0, second));
  return is_name ? fmt::format("did you mean --variant {}:{}?",
                               fmt::join(split(name, ','), " --variant "), rest)
                 : fmt::format("write it with one, as in mine:{}", text);
}

/// Returns where the library lies beside this program, as it is installed and built.
fs::path no_p2p_library() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path() / "../lib/linkgain" / kNoP2pLibrary).lexically_normal();
}

/// Parses what stands behind a variant's colon. `known`: the built-in ones, of which the first part
/// may name one; the variant has its name then.
Variant parse_parts(std::string_view text, std::string_view whole,
                    const std::vector<Variant>& known) {
  Variant variant;
  const auto refuse = [whole] {
    throw UsageError(fmt::format("variant '{}' has no VARIABLE=value after its name", whole),
                     "write it as ring:NCCL_ALGO=Ring or ll:NCCL_ALGO=Ring,NCCL_PROTO=LL; "
                     "mine:-NCCL_ALGO takes a variable of yours away");
  };
  if (text.empty()) return variant;  // which sets nothing
  std::string* last = nullptr;
  std::set<std::string> keys;
  const auto require_first = [&](const std::string& key) {
    if (keys.insert(key).second) return;
    throw UsageError(fmt::format("variant '{}' has {} twice", whole, key));
  };
  for (const std::string& part : split(text, ',')) {
    if (is_assignment(part)) {
      const std::size_t equals = part.find('=');
      const std::string key = part.substr(0, equals);
      require_first(key);
      last = key == "nccl"     ? &variant.nccl
             : key == "worker" ? &variant.worker
                               : &variant.environment[key];
      // What a built-in variant has loaded first comes before what the user's has.
      const bool adds = key == kPreload && !last->empty();
      *last = (adds ? *last + ":" : "") + part.substr(equals + 1);
      if (last->empty() && (last == &variant.nccl || last == &variant.worker)) {
        throw UsageError(fmt::format("variant '{}': {}= names no path", whole, key));
      }
    } else if (const std::string name(unset_by(part)); !name.empty()) {
      require_first(name);
      variant.environment.erase(name);
      variant.unset.push_back(name);
    } else if (last != nullptr) {
      *last += "," + part;
    } else {
      const auto base = std::ranges::find(known, part, &Variant::name);
      if (base == known.end() || !variant.name.empty() || !keys.empty()) refuse();
      variant = *base;
    }
  }
  return variant;
}

fs::path without_links(const fs::path& file) {
  std::error_code failed;
  const fs::path found = fs::canonical(file, failed);
  return !failed && fs::is_regular_file(found, failed) ? found : fs::path();
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Returns the folder that makes the loader find `file`, which `named` leads to: it asks for
/// kNcclFile.
fs::path loader_folder(const fs::path& named, const fs::path& file) {
  for (const fs::path& each : {named.parent_path(), file.parent_path()}) {
    if (without_links(each / kNcclFile) == file) return each;
  }
  throw UsageError(fmt::format("nccl={}: programs look for {}, which is not this file",
                               named.string(), kNcclFile),
                   fmt::format("give it that name, in a folder of its own: ln -s {} FOLDER/{}",
                               file.string(), kNcclFile));
}

/// Sets `nccl=PATH` as the variable that has it opened: by workers their own, by programs the
/// loader's.
void set_nccl(Variant& variant, const VariantContext& context) {
  if (context.backend == BackendKind::mpi) {
    throw UsageError("a variant's nccl=PATH goes with the nccl backend");
  }
  const fs::path path = fs::absolute(variant.nccl).lexically_normal();
  const fs::path named = is_folder(path) ? nccl_in(path) : path;
  const fs::path file = without_links(named);
  if (file.empty() && !context.several_hosts) {
    throw UsageError(fmt::format("nccl={}: there is no {}", path.string(), kNcclFile),
                     "name the library, its folder, or the folder that a wheel was unpacked into: "
                     "pip install --no-deps --target FOLDER nvidia-nccl-cu13==VERSION");
  }
  variant.nccl = (file.empty() ? path : file).string();
  if (context.backend == BackendKind::exec) {
    std::string& folders =
        variant.environment
            .try_emplace("LD_LIBRARY_PATH", value_of(current_environment(), "LD_LIBRARY_PATH"))
            .first->second;
    folders = loader_folder(named, file).string() + (folders.empty() ? "" : ":" + folders);
  } else {
    variant.environment["LINKGAIN_NCCL"] = variant.nccl;
  }
}

/// Names the library of no-p2p by its path, before what programs load by LD_PRELOAD anyway.
void set_preload(Variant& variant) {
  const auto set = variant.environment.find(kPreload);
  if (set == variant.environment.end() || !set->second.starts_with(kNoP2pLibrary)) return;
  const fs::path library = no_p2p_library();
  std::error_code ignored;
  if (!fs::is_regular_file(library, ignored)) {
    throw UsageError(fmt::format("no-p2p needs {}, which is not there", library.string()),
                     "install linkgain whole, by a package or cmake --install: the library is in "
                     "its lib/linkgain");
  }
  if (library.string().find_first_of(": ") != std::string::npos) {
    throw UsageError(fmt::format("no-p2p: LD_PRELOAD cannot name {}", library.string()),
                     "install linkgain in a folder whose path has no blank or colon");
  }
  const bool is_alone = set->second == kNoP2pLibrary;
  const std::string others = is_alone
                                 ? value_of(current_environment(), kPreload)
                                 : set->second.substr(std::string_view(kNoP2pLibrary).size() + 1);
  set->second = library.string() + (others.empty() ? "" : ":" + others);
}

void set_worker(Variant& variant, const VariantContext& context) {
  if (context.backend == BackendKind::exec) {
    throw UsageError(
        "a variant's worker=PATH goes with linkgain run",
        "write a command of a variant's own with {variant}, as in: -- ./{variant}/train");
  }
  const fs::path path = fs::absolute(variant.worker).lexically_normal();
  for (const fs::path& each : {path, path / "linkgain-bench", path / "bin/linkgain-bench"}) {
    if (is_folder(each) || ::access(each.c_str(), X_OK) != 0) continue;
    variant.worker = each.string();
    return;
  }
  throw UsageError(fmt::format("worker={}: there is no linkgain-bench", variant.worker),
                   "name the program of another build of linkgain, or its folder");
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
  std::vector<Variant> variants{{"p2p", {}},
                                {"host", without_nvlink()},
                                {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}},
                                {"net", net}};
  if (context.backend == BackendKind::exec) {
    // NCCL ends where NVLink joins GPUs and the driver refuses P2P, unless it is told to go on.
    variants.push_back({"no-p2p", {{kPreload, kNoP2pLibrary}, {"NCCL_IGNORE_DISABLED_P2P", "1"}}});
  }
  return variants;
}

std::vector<Variant> default_variants(const VariantContext& context) {
  std::vector<Variant> variants = built_in_variants(context);
  variants.resize(2);
  return variants;
}

Variant parse_variant(std::string_view text, const VariantContext& context) {
  const std::size_t colon = text.find(':');
  const std::string name{text.substr(0, colon)};
  const bool is_variable = colon == std::string_view::npos && name.find('=') != std::string::npos;
  if (name.empty() || is_variable) {
    throw UsageError(fmt::format("variant '{}' has no name", text),
                     is_variable ? advice_without_name(text)
                                 : "write it as name:VARIABLE=value, for example "
                                   "ring:NCCL_ALGO=Ring");
  }
  if (!std::ranges::all_of(name, is_identifier_character)) {
    throw UsageError(fmt::format("variant name '{}' may hold letters, digits, - and _ only", name),
                     "give each variant a --variant of its own; one of yours is written "
                     "name:VARIABLE=value");
  }
  if (name.size() > kLongestName) {
    throw UsageError(
        fmt::format("a variant's name has {} characters, more than {}", name.size(), kLongestName),
        "give it a shorter name: files of the run and columns of tables have it");
  }
  const std::vector<Variant> known = built_in_variants(context);
  const auto match = std::ranges::find(known, name, &Variant::name);
  if (colon != std::string_view::npos) {
    Variant variant = parse_parts(text.substr(colon + 1), text, known);
    if (match != known.end()) {
      if (!variant.environment.empty() || !variant.unset.empty() || !variant.name.empty()) {
        throw UsageError(
            fmt::format("variant '{}' is built in: give yours another name", name),
            fmt::format("name it in the first place, as in mine:{},NCCL_ALGO=Ring", name));
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
                   "a variant of your own is written name:VARIABLE=value, or name: where it sets "
                   "nothing");
}

Variant with_files(Variant variant, const VariantContext& context) {
  if (!variant.nccl.empty()) set_nccl(variant, context);
  if (context.backend == BackendKind::exec) set_preload(variant);
  if (!variant.worker.empty()) set_worker(variant, context);
  return variant;
}

std::string nccl_text(const Software& software) {
  const std::optional<std::string>& version =
      software.nccl_build ? software.nccl_build : software.nccl_library;
  const std::string header = software.nccl_header.value_or("");
  std::string text = version.value_or(header.empty() ? "" : "not loaded");
  if (!header.empty() && header != software.nccl_library) {
    text += fmt::format(" (built with {})", header);
  }
  if (software.nccl_path) {
    text += fmt::format(", {}", *software.nccl_path);
    if (software.nccl_found_by) text += fmt::format(" ({})", *software.nccl_found_by);
  }
  return text;
}

bool nccl_differs(const Settings& settings) {
  const std::vector<Software>& all = settings.software_in_force;
  return std::ranges::any_of(all, [&](const Software& each) {
    return each.nccl_path != all.front().nccl_path || each.nccl_library != all.front().nccl_library;
  });
}

bool worker_differs(const Settings& settings) {
  return std::ranges::any_of(settings.variants,
                             [](const Variant& each) { return !each.worker.empty(); });
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
