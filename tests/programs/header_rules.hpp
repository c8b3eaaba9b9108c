#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layer_rules.hpp"

/// Whether headers and sources mirror each other.
namespace linkgain::testing {

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

/// Where the source of a public header or a kernel's header may be, the first being the usual one.
inline std::vector<std::string> mirrors_of(const std::string& header) {
  const std::string stem = header.substr(0, header.rfind('.'));
  if (header.starts_with("kernels/")) return {stem + ".cu", stem + ".cpp"};
  const std::string source = "bench/" + stem.substr(std::string_view("include/linkgain/").size());
  return {source + ".cpp", source + ".cu", source + ".cpp.in"};
}

/// What is wrong with a header's place beside its source; absent where nothing is. A private header
/// may speak for several sources of its folder, but one of them must include it.
inline std::optional<std::string> mirror_violation(const SourceFile& header,
                                                   const std::vector<SourceFile>& files) {
  const auto exists = [&](const std::string& path) {
    return std::ranges::find(files, path, &SourceFile::path) != files.end();
  };
  if (header.path.starts_with("bench/")) {
    const std::string folder = header.path.substr(0, header.path.rfind('/') + 1);
    const std::string name = header.path.substr(folder.size());
    const bool included = std::ranges::any_of(files, [&](const SourceFile& file) {
      return file.path != header.path && file.path.starts_with(folder) &&
             file.text.find("#include \"" + name + "\"") != std::string::npos;
    });
    if (included) return std::nullopt;
    return header.path + ": nothing in its folder includes it";
  }
  if (!needs_source(header.text) || std::ranges::any_of(mirrors_of(header.path), exists)) {
    return std::nullopt;
  }
  return header.path + ": declares functions, but there is no " + mirrors_of(header.path).front();
}

}  // namespace linkgain::testing
