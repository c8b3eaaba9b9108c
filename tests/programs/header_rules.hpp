#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layer_rules.hpp"

/// Whether headers and sources mirror each other.
namespace linkgain::test {

/// `text` without comments, preprocessor lines and literals.
inline std::string code_of(std::string_view text) {
  std::string code;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    std::size_t end = 0;
    if (rest.starts_with("//") || (line_start && rest.front() == '#')) {
      end = rest.find('\n');
    } else if (rest.starts_with("/*")) {
      end = rest.find("*/", 2);
      if (end != std::string_view::npos) end += 2;
    } else if (rest.front() == '"') {
      for (end = 1; end < rest.size() && rest[end] != '"'; ++end) end += rest[end] == '\\' ? 1 : 0;
      ++end;
    } else if (rest.front() == '\'' && rest.size() > 3 && (rest[1] == '\\' || rest[2] == '\'')) {
      end = rest.find('\'', 2 + (rest[1] == '\\' ? 1 : 0)) + 1;
    }
    if (end >= rest.size()) break;
    if (end > 0) i += end;
    line_start = text[i] == '\n' || (line_start && std::isspace(text[i]) != 0);
    code += text[i];
  }
  return code;
}

/// Whether `statement`, which ended with a semicolon, declares a function and leaves its body to a
/// source.
inline bool declares_function(std::string_view statement) {
  const auto starts_with_word = [&](std::string_view word) { return statement.starts_with(word); };
  if (starts_with_word("using ") || starts_with_word("static_assert") ||
      starts_with_word("friend class")) {
    return false;
  }
  const std::size_t close = statement.rfind(')');
  if (close == std::string_view::npos) return false;
  const std::string_view tail = statement.substr(close + 1);
  // "= 0", "= default", "= delete" and initializers need no source.
  if (tail.find('=') != std::string_view::npos) return false;
  const std::string_view head = statement.substr(0, statement.find('('));
  return head.find('=') == std::string_view::npos ||
         head.find("operator") != std::string_view::npos;
}

/// Whether `opening`, the code before a brace, begins a namespace or a class and no function body.
inline bool opens_scope(std::string_view opening) {
  if (opening.find('(') != std::string_view::npos && !opening.starts_with("class alignas") &&
      !opening.starts_with("struct alignas")) {
    return false;
  }
  return std::ranges::any_of(std::vector<std::string_view>{"namespace", "class ", "struct "},
                             [&](auto word) { return opening.find(word) != opening.npos; });
}

/// Whether a header has a function without a body that is neither pure nor defaulted: such a header
/// needs a source. Reads text, not the language; good enough for declarations as this project has
/// them.
inline bool needs_source(std::string_view header) {
  std::string statement;
  std::vector<bool> scopes;
  for (const char c : code_of(header)) {
    const bool in_scope = std::ranges::all_of(scopes, [](bool scope) { return scope; });
    if (c == '{') {
      scopes.push_back(opens_scope(statement));
    } else if (c == '}') {
      if (!scopes.empty()) scopes.pop_back();
    } else if (c == ';' && in_scope && declares_function(statement)) {
      return true;
    }
    if (c == '{' || c == '}' || c == ';') {
      statement.clear();
    } else if (c != ':' || !(statement == "public" || statement == "private")) {
      const bool blank = std::isspace(c) != 0;
      if (!blank || (!statement.empty() && statement.back() != ' ')) statement += blank ? ' ' : c;
    } else {
      statement.clear();
    }
  }
  return false;
}

/// Whether `library` has a source or template called `name` in some folder.
inline bool has_source(const Library& library, const std::string& name,
                       const std::vector<SourceFile>& files) {
  return std::ranges::any_of(files, [&](const SourceFile& file) {
    const std::string base = file.path.substr(folder_of(file.path).size());
    return library_of(file.path) == &library &&
           (base == name + ".cpp" || base == name + ".cu" || base == name + ".cpp.in");
  });
}

/// For each header of the tree the files that include it.
using Users = std::map<std::string, std::vector<const SourceFile*>>;

/// Points into `files`.
inline Users users_of(const std::vector<SourceFile>& files) {
  std::set<std::string> paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  Users users;
  for (const SourceFile& file : files) {
    for (const Include& include : includes_of(file.text)) {
      const std::string target = include.quoted ? target_of(file, include, paths) : std::string();
      if (!target.empty()) users[target].push_back(&file);
    }
  }
  return users;
}

/// What is wrong with a header's place; absent where nothing is. In include/ lies what another
/// library includes, and what these headers include; beside its source what only its own does. A
/// public header or a kernel's that declares functions has a source of its name.
inline std::optional<std::string> place_violation(const SourceFile& header,
                                                  const std::vector<SourceFile>& files,
                                                  const Users& users) {
  const Library* const own = library_of(header.path);
  if (own == nullptr) return header.path + ": is of a folder that is no library's";
  const auto found = users.find(header.path);
  if (found == users.end()) return header.path + ": nobody includes it";
  const bool needed_outside = std::ranges::any_of(found->second, [&](const SourceFile* user) {
    return library_of(user->path) != own || visibility_of(user->path) == Visibility::public_header;
  });
  const bool is_public = visibility_of(header.path) == Visibility::public_header;
  if (is_public && !needed_outside) {
    return header.path + ": no other library includes it, so it belongs beside its source";
  }
  const std::string name = header.path.substr(folder_of(header.path).size());
  const bool speaks_alone = is_public || own->wing.empty();
  if (speaks_alone && needs_source(header.text) &&
      !has_source(*own, name.substr(0, name.rfind('.')), files)) {
    return header.path + ": declares functions, but its library has no source of its name";
  }
  return std::nullopt;
}

/// A unit is a source and the header of its name, or a header that has no source. Pairs of units
/// whose files include each other's headers.
inline std::vector<std::string> units_that_include_each_other(
    const std::vector<SourceFile>& files) {
  const auto stem_of = [](const std::string& path) { return path.substr(0, path.find('.')); };
  // A public header's source lies in some folder of its library.
  std::map<std::pair<const Library*, std::string>, std::string> sources;
  const auto key_of = [&](const std::string& path) {
    return std::pair{library_of(path), stem_of(path.substr(folder_of(path).size()))};
  };
  for (const SourceFile& file : files) {
    if (!is_header(file.path)) sources[key_of(file.path)] = stem_of(file.path);
  }
  const auto unit_of = [&](const std::string& path) {
    const bool is_public = visibility_of(path) == Visibility::public_header;
    const auto source = is_public ? sources.find(key_of(path)) : sources.end();
    return source == sources.end() ? stem_of(path) : source->second;
  };
  std::set<std::pair<std::string, std::string>> uses;
  for (const auto& [header, includers] : users_of(files)) {
    for (const SourceFile* file : includers) uses.emplace(unit_of(file->path), unit_of(header));
  }
  std::vector<std::string> found;
  for (const auto& [from, to] : uses) {
    if (from < to && uses.contains({to, from})) found.push_back(from + " and " + to);
  }
  return found;
}

}  // namespace linkgain::test
