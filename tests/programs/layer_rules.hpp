#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/// The layer table of this project and the check of a source file against it.
namespace linkgain::testing {

/// A file of the tree; the path is relative to the repository.
struct SourceFile {
  std::string path;
  std::string text;
};

/// Who sees what a file includes: itself, its own folder, or every user of the layer.
enum class Visibility { source, private_header, public_header };

/// A layer and, separated by spaces, the layers that it may include.
struct Layer {
  std::string_view name;
  std::string_view may_include;
};

/// The last two are the programs, which sit on top.
inline constexpr std::array kLayers{
    Layer{"core", "core"},
    Layer{"report", "core report"},
    Layer{"telemetry", "core telemetry"},
    Layer{"kernels", "kernels"},
    Layer{"gpu", "core kernels gpu"},
    Layer{"runtime", "core telemetry runtime"},
    Layer{"backends", "core gpu kernels runtime backends"},
    Layer{"model", "core gpu kernels model"},
    Layer{"workloads", "core telemetry runtime model workloads"},
    Layer{"coordinator", "core report telemetry coordinator"},
    Layer{"linkgain", "core report telemetry coordinator linkgain"},
    Layer{"linkgain-bench",
          "core report telemetry kernels gpu runtime backends model workloads linkgain-bench"},
};

/// A third-party header (a trailing * stands for any end), the layers that may include it, and
/// in what kind of file at most. The first row that matches a header counts.
struct ThirdParty {
  std::string_view header;
  std::string_view layers;
  Visibility most_visible;
};

inline constexpr std::array kThirdParty{
    ThirdParty{"nlohmann/*", "core linkgain-bench", Visibility::private_header},
    ThirdParty{"valijson/*", "core", Visibility::private_header},
    ThirdParty{"fmt/*",
               "core report telemetry gpu runtime backends model workloads coordinator linkgain "
               "linkgain-bench",
               Visibility::private_header},
    ThirdParty{"hwloc*", "telemetry", Visibility::private_header},
    ThirdParty{"mpi.h", "runtime backends", Visibility::source},
    ThirdParty{"benchmark/*", "runtime", Visibility::source},
    ThirdParty{"CLI/*", "coordinator linkgain linkgain-bench", Visibility::private_header},
    ThirdParty{"nccl_device*", "kernels", Visibility::private_header},
    ThirdParty{"nccl*", "backends", Visibility::private_header},
    ThirdParty{"cublas*", "gpu", Visibility::private_header},
    ThirdParty{"cuda*", "kernels gpu backends", Visibility::public_header},
    ThirdParty{"driver_types.h", "kernels gpu backends", Visibility::public_header},
    ThirdParty{"cooperative_groups*", "kernels", Visibility::private_header},
    ThirdParty{"cub/*", "kernels", Visibility::private_header},
    // fmt is what formats, on every compiler alike.
    ThirdParty{"format", "", Visibility::source},
};

/// What the operating system has; every other header with a folder or ".h" needs a row above.
inline constexpr std::string_view kSystemHeaders =
    "dirent.h dlfcn.h fcntl.h glob.h netdb.h poll.h pthread.h pwd.h sched.h signal.h spawn.h "
    "termios.h "
    "unistd.h";
inline constexpr std::string_view kSystemFolders = "arpa linux net netinet sys";

inline bool has_word(std::string_view words, std::string_view word) {
  std::istringstream stream{std::string(words)};
  for (std::string each; stream >> each;) {
    if (each == word) return true;
  }
  return false;
}

inline bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

inline bool is_header(std::string_view path) {
  return path.ends_with(".hpp") || path.ends_with(".cuh");
}

inline Visibility visibility_of(std::string_view path) {
  if (path.starts_with("include/")) return Visibility::public_header;
  return is_header(path) ? Visibility::private_header : Visibility::source;
}

/// The layer that a file belongs to, or the program: files of bench/programs are the worker's where
/// their name says bench or nccl_tests, else the coordinator's. Empty where the folder is no
/// layer's.
inline std::string_view layer_of(std::string_view path) {
  if (path.starts_with("bench/programs/")) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const bool is_worker = file.starts_with("nccl_tests") || file.find("bench") != file.npos;
    return is_worker ? "linkgain-bench" : "linkgain";
  }
  for (const Layer& layer : kLayers) {
    for (const std::string folder : {"include/linkgain/", "bench/", ""}) {
      if (path.starts_with(folder + std::string(layer.name) + "/")) return layer.name;
    }
  }
  return {};
}

/// One #include: the name between its quotes or angle brackets.
struct Include {
  std::string name;
  bool quoted = false;
};

inline std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
    constexpr std::string_view kDirective = "#include";
    if (!line.starts_with(kDirective) || line.size() < kDirective.size() + 2) continue;
    const bool quoted = line[kDirective.size()] == '"';
    const std::size_t begin = kDirective.size() + 1;
    const std::size_t end = line.find(quoted ? '"' : '>', begin);
    if (end != std::string::npos) found.push_back({line.substr(begin, end - begin), quoted});
  }
  return found;
}

/// What is wrong with `file` including a header of the project itself; absent where nothing is.
inline std::optional<std::string> own_violation(const SourceFile& file, const Include& include,
                                                const std::set<std::string>& paths) {
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  std::string target;
  for (const std::string& place : {folder, std::string("include/"), std::string()}) {
    if (paths.contains(place + include.name)) {
      target = place + include.name;
      break;
    }
  }
  if (target.empty()) return "is neither in this folder, nor in include/, nor in kernels/";
  const std::string_view layer = layer_of(file.path);
  const std::string_view target_layer = layer_of(target);
  if (target.starts_with("bench/") && !target.starts_with(folder)) {
    return "is private to its own folder";
  }
  const auto* row = std::ranges::find(kLayers, layer, &Layer::name);
  if (row == kLayers.end()) return "comes from a folder that is no layer";
  if (has_word(row->may_include, target_layer)) return std::nullopt;
  return "is of layer " + std::string(target_layer) + ", which " + std::string(layer) +
         " may not include";
}

/// The same for a header in angle brackets.
inline std::optional<std::string> third_party_violation(const SourceFile& file,
                                                        const std::string& header) {
  const auto row = std::ranges::find_if(
      kThirdParty, [&](const ThirdParty& each) { return matches(each.header, header); });
  if (row == kThirdParty.end()) {
    const std::size_t slash = header.find('/');
    const bool known = slash != std::string::npos
                           ? has_word(kSystemFolders, header.substr(0, slash))
                           : !header.ends_with(".h") || has_word(kSystemHeaders, header);
    if (known) return std::nullopt;
    return "has no row in the table of third-party headers";
  }
  const std::string layer(layer_of(file.path));
  if (!has_word(row->layers, layer)) return "is not for layer " + layer;
  if (visibility_of(file.path) > row->most_visible) return "is included where too many see it";
  return std::nullopt;
}

/// One line for each include of `file` that the tables do not allow. `paths` are all files of the
/// tree.
inline std::vector<std::string> include_violations(const SourceFile& file,
                                                   const std::set<std::string>& paths) {
  std::vector<std::string> violations;
  for (const Include& include : includes_of(file.text)) {
    const bool own = include.quoted || include.name.starts_with("linkgain/");
    const std::optional<std::string> problem =
        own ? own_violation(file, include, paths) : third_party_violation(file, include.name);
    if (problem) violations.push_back(file.path + ": " + include.name + " " + *problem);
  }
  return violations;
}

}  // namespace linkgain::testing
