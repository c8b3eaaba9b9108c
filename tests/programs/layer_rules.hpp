#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/// The table of libraries of this project and the check of a source file against it.
namespace linkgain::test {

/// A file of the tree; the path is relative to the repository.
struct SourceFile {
  std::string path;
  std::string text;
};

/// Who sees what a file includes: itself, its own folder, or every user of the library.
enum class Visibility { source, private_header, public_header };

/// A part of the tree: a library of a wing, the kernels, or a program.
struct Library {
  std::string_view name;
  std::string_view wing;  ///< of bench/WING/NAME; empty for kernels/
  /// Separated by spaces. It may also include what these may.
  std::string_view may_include;
};

inline constexpr std::array kLibraries{
    Library{"base", "common", ""},
    Library{"statistics", "common", "base"},
    Library{"hardware", "common", "base"},
    Library{"gpt2", "common", "base"},
    Library{"cases", "common", "gpt2"},
    Library{"record", "common", "cases hardware statistics"},
    Library{"protocol", "common", "record"},
    Library{"telemetry", "common", "record"},
    // What nccl-tests prints needs neither ranks nor GPUs; its mode, which does, is the program's.
    Library{"nccl_tests", "common", "protocol"},
    Library{"kernels", "", ""},
    Library{"gpu", "worker", "telemetry kernels"},
    // Not gpu: what it knows of devices it is told by the backend, so that it is tested without
    // one.
    Library{"runtime", "worker", "telemetry protocol kernels"},
    Library{"backends", "worker", "runtime gpu"},
    Library{"proof", "worker", "runtime gpu"},
    Library{"model", "worker", "gpu"},
    Library{"workloads", "worker", "runtime model"},
    Library{"process", "coordinator", "base"},
    Library{"watch", "coordinator", "telemetry process"},
    Library{"analysis", "coordinator", "telemetry"},
    Library{"race", "coordinator", "analysis"},
    Library{"tables", "coordinator", "statistics"},
    Library{"machines", "coordinator", "analysis tables"},
    Library{"jobs", "coordinator", "telemetry protocol process"},
    Library{"plan", "coordinator", "jobs"},
    Library{"output", "coordinator", "telemetry"},
    Library{"run", "coordinator", "machines output plan race"},
    Library{"summary", "coordinator", "race tables"},
    Library{"tuning", "coordinator", "summary"},
    Library{"predict", "coordinator", "summary"},
    Library{"report", "coordinator", "predict tables tuning"},
    Library{"screen", "coordinator", "report"},
    // Pages of one command each are in its own library.
    Library{"html", "coordinator", "report"},
    Library{"patterns", "coordinator", "cases tables"},
    Library{"exec", "coordinator", "analysis patterns protocol watch"},
    Library{"compare", "coordinator", "html machines"},
    Library{"baseline", "coordinator", "html machines"},
    Library{"fleet", "coordinator", "html machines"},
    Library{"delivery", "coordinator", "jobs"},
    Library{"diagnostics", "coordinator", "telemetry tables process delivery"},
    Library{"formats", "coordinator", "report diagnostics"},
    Library{"linkgain", "programs",
            "run formats screen exec compare baseline fleet diagnostics predict"},
    Library{"linkgain_bench", "programs", "backends proof workloads nccl_tests"},
    // Other people's programs load it: it is of no other library's.
    Library{"no_p2p", "programs", ""},
};

/// Returns null where there is none of this name.
inline const Library* find_library(std::string_view name) {
  const auto* const found = std::ranges::find(kLibraries, name, &Library::name);
  return found == kLibraries.end() ? nullptr : found;
}

/// A third-party header (a trailing * stands for any end), the libraries that may include it, and
/// in what kind of file at most. The first row that matches a header counts.
struct ThirdParty {
  std::string_view header;
  std::string_view libraries;
  Visibility most_visible;
};

inline constexpr std::array kThirdParty{
    ThirdParty{"nlohmann/json_fwd.hpp", "base hardware record", Visibility::public_header},
    // Others by way of base/json.hpp, which has the library refuse numbers that a type cannot hold.
    ThirdParty{"nlohmann/*", "base", Visibility::public_header},
    ThirdParty{"simdjson.h", "base", Visibility::source},
    ThirdParty{"pcre2.h", "patterns", Visibility::source},
    ThirdParty{"benchmark/*", "runtime", Visibility::source},
    ThirdParty{"CLI/*", "cases nccl_tests plan linkgain linkgain_bench",
               Visibility::private_header},
    ThirdParty{"nccl_device*", "kernels", Visibility::private_header},
    ThirdParty{"nccl*", "gpu backends", Visibility::public_header},
    ThirdParty{"cublas*", "gpu", Visibility::private_header},
    ThirdParty{"cuda*", "kernels gpu backends proof", Visibility::public_header},
    ThirdParty{"driver_types.h", "kernels gpu backends", Visibility::public_header},
    ThirdParty{"cooperative_groups*", "kernels", Visibility::private_header},
    ThirdParty{"cub/*", "kernels", Visibility::private_header},
    // fmt is what formats, on every compiler alike.
    ThirdParty{"format", "", Visibility::source},
};

/// Libraries for every one of ours but kernels, which are C++17 for devices.
inline constexpr std::string_view kEverywhereOnHosts = "fmt/";

/// What the operating system has; every other header with a folder or ".h" needs a row above.
inline constexpr std::string_view kSystemHeaders =
    "dirent.h dlfcn.h fcntl.h glob.h link.h netdb.h poll.h pthread.h pwd.h sched.h signal.h "
    "spawn.h "
    "stdio_ext.h termios.h unistd.h";
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

inline std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

/// Returns the library that a file belongs to; null where its folder is none's.
inline const Library* library_of(std::string_view path) {
  for (const Library& library : kLibraries) {
    const std::string name(library.name);
    const std::string home =
        library.wing.empty() ? name : "bench/" + std::string(library.wing) + "/" + name;
    if (path.starts_with(home + "/") || path.starts_with("include/linkgain/" + name + "/")) {
      return &library;
    }
  }
  return nullptr;
}

/// Returns itself, what its row names, and what the rows of these name.
inline std::set<std::string_view> reach_of(const Library& library) {
  std::set<std::string_view> reach{library.name};
  std::istringstream names{std::string(library.may_include)};
  for (std::string each; names >> each;) {
    if (const Library* other = find_library(each)) reach.merge(reach_of(*other));
  }
  return reach;
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

/// Returns the path of the header of ours that `include` means; empty where there is none.
inline std::string target_of(const SourceFile& file, const Include& include,
                             const std::set<std::string>& paths) {
  for (const std::string& place : {folder_of(file.path), std::string("include/"), std::string()}) {
    if (paths.contains(place + include.name)) return place + include.name;
  }
  // Sources in a room of a library include what lies beside the rooms.
  const Library* const library = library_of(file.path);
  if (library == nullptr || library->wing.empty()) return {};
  const std::string home =
      "bench/" + std::string(library->wing) + "/" + std::string(library->name) + "/";
  return paths.contains(home + include.name) ? home + include.name : std::string();
}

/// Says what is wrong with `file` including a header of the project itself; absent where nothing
/// is.
inline std::optional<std::string> own_violation(const SourceFile& file, const Include& include,
                                                const std::set<std::string>& paths) {
  const std::string target = target_of(file, include, paths);
  if (target.empty()) return "is neither in this library, nor in include/, nor in kernels/";
  const Library* const library = library_of(file.path);
  const Library* const other = library_of(target);
  if (library == nullptr || other == nullptr) return "is of a folder that is no library's";
  if (target.starts_with("bench/") && library != other) return "is private to its own library";
  if (visibility_of(file.path) == Visibility::public_header && target.starts_with("bench/")) {
    return "is private, and a public header includes it";
  }
  if (reach_of(*library).contains(other->name)) return std::nullopt;
  return "is of " + std::string(other->name) + ", which " + std::string(library->name) +
         " may not include";
}

/// Says the same of a header in angle brackets.
inline std::optional<std::string> third_party_violation(const SourceFile& file,
                                                        const std::string& header) {
  if (header.starts_with(kEverywhereOnHosts) && !file.path.starts_with("kernels/")) {
    return std::nullopt;
  }
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
  const Library* const library = library_of(file.path);
  const std::string name(library == nullptr ? std::string_view() : library->name);
  if (!has_word(row->libraries, name)) return "is not for " + name;
  if (visibility_of(file.path) > row->most_visible) return "is included where too many see it";
  return std::nullopt;
}

/// Gives one line for each include of `file` that the tables do not allow. `paths` are all files of
/// the tree.
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

}  // namespace linkgain::test
