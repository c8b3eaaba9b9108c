#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layer_rules.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Whether headers and sources mirror each other.

/// Removes comments, preprocessor lines and literals from `text`.
std::string code_of(std::string_view text) {
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

/// Tells whether `statement`, which ended with a semicolon, declares a function and leaves its body
/// to a source.
bool declares_function(std::string_view statement) {
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

/// Tells whether `opening`, the code before a brace, begins a namespace or a class and no function
/// body.
bool opens_scope(std::string_view opening) {
  if (opening.find('(') != std::string_view::npos && !opening.starts_with("class alignas") &&
      !opening.starts_with("struct alignas")) {
    return false;
  }
  return std::ranges::any_of(std::vector<std::string_view>{"namespace", "class ", "struct "},
                             [&](auto word) { return opening.find(word) != opening.npos; });
}

/// Calls `visit` with each statement outside of functions, what ended it (one of "{};") and the
/// openings of the scopes around it. Reads text, not the language; good enough for declarations as
/// this project has them.
template <typename Visit>
void visit_statements(std::string_view text, Visit visit) {
  std::string statement;
  std::vector<std::string> scopes;
  for (const char c : code_of(text)) {
    const bool ends = c == '{' || c == '}' || c == ';';
    if (ends && std::ranges::all_of(scopes, opens_scope)) visit(statement, c, scopes);
    if (c == '{') scopes.push_back(statement);
    if (c == '}' && !scopes.empty()) scopes.pop_back();
    if (ends || (c == ':' && (statement == "public" || statement == "private"))) {
      statement.clear();
      continue;
    }
    const bool blank = std::isspace(c) != 0;
    if (!blank || (!statement.empty() && statement.back() != ' ')) statement += blank ? ' ' : c;
  }
}

/// Tells whether `opening` begins the initializer of a constant, whose end looks like a function's.
bool opens_initializer(std::string_view opening) {
  return opening.find("inline constexpr") != std::string_view::npos &&
         opening.substr(0, opening.find('(')).find('=') != std::string_view::npos;
}

/// Tells whether a header has a function without a body that is neither pure nor defaulted: such a
/// header needs a source.
bool needs_source(std::string_view header) {
  bool needs = false;
  bool in_initializer = false;
  visit_statements(header, [&](const std::string& statement, char end, const auto&) {
    needs = needs || (end == ';' && !in_initializer && declares_function(statement));
    if (end == '{') in_initializer = in_initializer || opens_initializer(statement);
    if (end == ';') in_initializer = false;
  });
  return needs;
}

/// Returns the name of the type that `opening`, the code before a brace, defines; empty where it
/// defines none, or a template's specialization, or a type declared in another one.
std::string defined_type(const std::string& opening) {
  static const std::regex definition(
      R"((?:template <.*> )?(?:struct|class|enum|enum class) (?:alignas\(.*\) )?(\w+)(?: final)? ?(?::[^:].*)?)");
  std::smatch match;
  return std::regex_match(opening, match, definition) ? match[1].str() : std::string();
}

/// Names types that stand twice in what one program links: two of one name take each other's
/// functions there, without a word from the linker.
std::vector<std::string> types_defined_twice(const std::vector<SourceFile>& files) {
  std::map<std::string, std::vector<const SourceFile*>> definitions;
  for (const SourceFile& file : files) {
    visit_statements(file.text, [&](const std::string& statement, char end, const auto& scopes) {
      const std::string type = end == '{' ? defined_type(statement) : std::string();
      std::string name;
      for (const std::string& scope : scopes) {
        if (!scope.starts_with("namespace ") || scope == "namespace ") return;
        name += scope.substr(scope.find(' ') + 1);
      }
      if (!type.empty()) definitions[name + type].push_back(&file);
    });
  }
  std::vector<std::string> found;
  for (const auto& [name, places] : definitions) {
    std::set<std::string_view> wings;
    for (const SourceFile* file : places) wings.insert(library_of(file->path)->wing);
    const bool apart = wings == std::set<std::string_view>{"coordinator", "worker"};
    if (places.size() > wings.size() || (places.size() > 1 && !apart)) {
      found.push_back(name + " in " + places.front()->path + " and " + places.back()->path);
    }
  }
  return found;
}

/// Tells whether `library` has a source or template called `name` in some folder.
bool has_source(const Library& library, const std::string& name,
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
Users users_of(const std::vector<SourceFile>& files) {
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

/// Says what is wrong with a header's place; absent where nothing is. In include/ lies what another
/// library includes, and what these headers include; beside its source what only its own does. A
/// public header or a kernel's that declares functions has a source of its name.
std::optional<std::string> place_violation(const SourceFile& header,
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

/// Lists pairs of units whose files include each other's headers. A unit is a source and the header
/// of its name, or a header that has no source.
std::vector<std::string> units_that_include_each_other(const std::vector<SourceFile>& files) {
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

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Reads all C++ and CUDA files of the product, and the templates that configure fills in.
std::vector<SourceFile> source_tree() {
  const std::filesystem::path root = LINKGAIN_SOURCE_DIR;
  const std::set<std::string> extensions{".hpp", ".cpp", ".cu", ".cuh", ".in"};
  std::vector<SourceFile> files;
  for (const char* folder : {"include", "bench", "kernels"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !extensions.contains(entry.path().extension())) continue;
      files.push_back({std::filesystem::relative(entry.path(), root), read(entry.path())});
    }
  }
  return files;
}

std::set<std::string> paths_of(const std::vector<SourceFile>& files) {
  std::set<std::string> paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  return paths;
}

std::vector<std::string> violations(const std::string& path, const std::string& text) {
  const std::set<std::string> paths{"include/linkgain/base/units.hpp",
                                    "include/linkgain/runtime/engine.hpp",
                                    "include/linkgain/process/process.hpp",
                                    "bench/common/record/record_parts.hpp",
                                    "kernels/copy/copy.hpp",
                                    "bench/worker/backends/device_call.hpp"};
  return include_violations({path, text}, paths);
}

TEST(Libraries, HaveNoCycle) {
  // Rows name rows above them only.
  std::set<std::string_view> above;
  for (const Library& library : kLibraries) {
    std::istringstream names{std::string(library.may_include)};
    for (std::string each; names >> each;) {
      EXPECT_TRUE(above.contains(each)) << library.name << " before " << each;
    }
    above.insert(library.name);
  }
}

TEST(Libraries, OfWorkerAndCoordinatorAreApart) {
  for (const Library& library : kLibraries) {
    std::set<std::string_view> wings;
    for (const std::string_view name : reach_of(library)) wings.insert(find_library(name)->wing);
    EXPECT_FALSE(wings.contains("worker") && wings.contains("coordinator")) << library.name;
    if (library.wing == "common") {
      EXPECT_THAT(wings, ElementsAre("common")) << library.name;
    }
  }
}

TEST(Libraries, AreFoldersOfTheTree) {
  const std::filesystem::path root = LINKGAIN_SOURCE_DIR;
  for (const auto& wing : std::filesystem::directory_iterator(root / "bench")) {
    if (!wing.is_directory()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(wing)) {
      const Library* const library = find_library(entry.path().filename().string());
      ASSERT_NE(library, nullptr) << entry.path();
      EXPECT_EQ(library->wing, wing.path().filename().string()) << entry.path();
    }
  }
}

TEST(Libraries, AreSmallEnoughToBeRead) {
  constexpr long kMostLines = 4000;
  std::map<std::string, long> lines;
  for (const SourceFile& file : source_tree()) {
    const Library* const library = library_of(file.path);
    ASSERT_NE(library, nullptr) << file.path;
    // Each of the kernels' folders counts by itself.
    const std::string part =
        library->wing.empty() ? folder_of(file.path) : std::string(library->name);
    lines[part] += std::ranges::count(file.text, '\n');
  }
  for (const auto& [part, count] : lines) EXPECT_LE(count, kMostLines) << part;
}

TEST(Tree, IncludesFollowTheTableOfLibraries) {
  const std::vector<SourceFile> files = source_tree();
  ASSERT_GT(files.size(), 50U);
  const std::set<std::string> paths = paths_of(files);
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    std::ranges::copy(include_violations(file, paths), std::back_inserter(found));
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(Tree, HeadersLieWhereTheirUseSays) {
  const std::vector<SourceFile> files = source_tree();
  const Users users = users_of(files);
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    if (!is_header(file.path)) continue;
    if (const auto problem = place_violation(file, files, users)) found.push_back(*problem);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(Tree, UnitsDoNotIncludeEachOther) {
  const std::vector<SourceFile> files = source_tree();
  EXPECT_THAT(units_that_include_each_other(files), IsEmpty());
}

TEST(Tree, DefinesEachTypeOnce) { EXPECT_THAT(types_defined_twice(source_tree()), IsEmpty()); }

TEST(Includes, GoDownTheTableOnly) {
  const std::string engine = "#include \"linkgain/runtime/engine.hpp\"\n";
  EXPECT_THAT(violations("bench/worker/backends/mpi/calls.cpp", engine), IsEmpty());
  EXPECT_THAT(violations("bench/common/cases/case.cpp", engine),
              ElementsAre(AllOf(HasSubstr("runtime"), HasSubstr("cases"))));
  EXPECT_THAT(violations("include/linkgain/jobs/job.hpp", engine).size(), 1);
  EXPECT_THAT(
      violations("bench/coordinator/jobs/job.cpp", "#include <linkgain/runtime/engine.hpp>").size(),
      1);
  EXPECT_THAT(
      violations("bench/worker/runtime/engine.cpp", "#include \"linkgain/process/process.hpp\"")
          .size(),
      1);
  EXPECT_THAT(violations("bench/nowhere/a.cpp", engine).size(), 1);
}

TEST(Includes, OfTheCoordinatorProgramLeaveTheWorkersLibrariesAlone) {
  const std::string engine = "#include \"linkgain/runtime/engine.hpp\"\n";
  EXPECT_THAT(violations("bench/programs/linkgain/main.cpp", engine).size(), 1);
  EXPECT_THAT(violations("bench/programs/linkgain_bench/main.cpp", engine), IsEmpty());
  EXPECT_THAT(
      violations("bench/programs/linkgain/main.cpp", "#include \"kernels/copy/copy.hpp\"").size(),
      1);
}

TEST(Includes, OfPrivateHeadersStayInTheirLibrary) {
  const std::string parts = "#include \"record_parts.hpp\"";
  EXPECT_THAT(violations("bench/common/record/record.cpp", parts), IsEmpty());
  EXPECT_THAT(violations("bench/coordinator/report/csv.cpp", parts).size(), 1);
  EXPECT_THAT(violations("include/linkgain/record/record.hpp",
                         "#include \"bench/common/record/record_parts.hpp\""),
              ElementsAre(HasSubstr("private")));
  EXPECT_THAT(violations("bench/worker/backends/nccl/calls.cpp", "#include \"device_call.hpp\""),
              IsEmpty());
}

TEST(Includes, OfThirdPartyHeadersKeepToTheirLibraries) {
  EXPECT_THAT(violations("bench/worker/runtime/a.cpp", "#include <benchmark/benchmark.h>"),
              IsEmpty());
  EXPECT_THAT(violations("include/linkgain/runtime/a.hpp", "#include <benchmark/benchmark.h>"),
              ElementsAre(HasSubstr("too many")));
  EXPECT_THAT(violations("bench/coordinator/jobs/job.cpp", "# include  <nccl.h>").size(), 1);
  for (const char* header : {"mpi.h", "cuda_runtime.h", "nccl.h"}) {
    const std::string text = std::string("#include <") + header + ">\n";
    for (const char* library : {"common/cases", "coordinator/report", "common/telemetry"}) {
      EXPECT_THAT(violations(std::string("bench/") + library + "/a.cpp", text).size(), 1) << header;
    }
  }
  EXPECT_THAT(violations("bench/worker/gpu/stream.cpp", "#include <cuda_runtime.h>"), IsEmpty());
  EXPECT_THAT(violations("bench/worker/gpu/stream.cpp", "#include <nccl.h>"), IsEmpty());
  EXPECT_THAT(violations("bench/worker/proof/a.cpp", "#include <nccl.h>").size(), 1);
  EXPECT_THAT(violations("bench/coordinator/report/csv.cpp", "#include <nlohmann/json.hpp>").size(),
              1);
  EXPECT_THAT(violations("bench/coordinator/report/csv.cpp", "#include <fmt/format.h>"), IsEmpty());
  EXPECT_THAT(violations("kernels/copy/copy.cu", "#include <fmt/format.h>").size(), 1);
}

TEST(Includes, OfUnknownHeadersNeedARow) {
  EXPECT_THAT(
      violations("bench/common/cases/case.cpp", "#include <vector>\n#include <sys/types.h>"),
      IsEmpty());
  EXPECT_THAT(violations("bench/common/cases/case.cpp", "#include <boost/any.hpp>").size(), 1);
  EXPECT_THAT(violations("bench/common/telemetry/nvml.cpp", "#include <nvml.h>").size(), 1);
  EXPECT_THAT(violations("bench/common/cases/case.cpp", "#include <format>").size(), 1);
  EXPECT_THAT(violations("bench/common/cases/case.cpp", "#include \"no_such.hpp\"").size(), 1);
}

TEST(NeedsSource, IsTrueForFunctionsWithoutBody) {
  EXPECT_TRUE(needs_source("namespace a { int f(int x = 3); }"));
  EXPECT_TRUE(needs_source("class A {\n public:\n  std::string g() const noexcept;\n};"));
  EXPECT_TRUE(needs_source("class A { bool operator==(const A&) const; };"));
  EXPECT_TRUE(needs_source("class A { A(); };"));
  EXPECT_TRUE(needs_source("template <> inline constexpr auto kA<E> = f({{1, 2}});\nint g();"));
  EXPECT_TRUE(needs_source("int h() { return 1; }\nauto f() -> int;"));
}

TEST(NeedsSource, IsFalseForWhatAHeaderHolds) {
  EXPECT_FALSE(needs_source("inline int f() { g(); return h(); }"));
  EXPECT_FALSE(needs_source("struct A { virtual ~A() = default; virtual void f() = 0; };"));
  EXPECT_FALSE(needs_source("inline constexpr int kA = f(3);\nusing F = void(int);"));
  EXPECT_FALSE(needs_source("template <> inline constexpr auto kA<E> = f<E>({{1, 2}, {3, 4}});"));
  EXPECT_FALSE(needs_source("inline constexpr auto kA = [] { return 1; }();"));
  EXPECT_FALSE(needs_source("// int f();\n/* int g(); */\n#define F int f();\n"));
  EXPECT_FALSE(
      needs_source("struct A { std::string text = \"f();\"; int n() const { return f(); } };"));
  EXPECT_FALSE(
      needs_source("class A { A(int a) : a_(a), b_{f(a)} {} void f() override { g(); } };"));
  EXPECT_FALSE(needs_source("inline int f() { return 10'000 + '\\'' + '}'; g(); }"));
  EXPECT_FALSE(needs_source("enum class A { a, b };\nstatic_assert(f());\n"));
}

TEST(PlaceViolation, AsksWhoIncludesTheHeader) {
  const auto violation = [](const std::vector<SourceFile>& files) {
    return place_violation(files.front(), files, users_of(files)).value_or("");
  };
  const SourceFile header{"include/linkgain/base/units.hpp", "int f();"};
  const SourceFile source{"bench/common/base/units.cpp", "#include \"linkgain/base/units.hpp\"\n"};
  const SourceFile user{"bench/common/cases/case.cpp", "#include \"linkgain/base/units.hpp\"\n"};
  EXPECT_THAT(violation({header}), HasSubstr("nobody includes it"));
  EXPECT_THAT(violation({header, source}), HasSubstr("beside its source"));
  EXPECT_THAT(violation({header, user}), HasSubstr("no source"));
  EXPECT_THAT(violation({header, source, user}), IsEmpty());
  const SourceFile parts{"bench/common/base/parts.hpp", "int f();"};
  EXPECT_THAT(violation({parts}), HasSubstr("nobody"));
  EXPECT_THAT(violation({parts, {"bench/common/base/a.cpp", "#include \"parts.hpp\"\n"}}),
              IsEmpty());
}

TEST(TypesDefinedTwice, AreThoseThatOneProgramLinks) {
  const auto found = [](const std::string& text, const std::string& other_path,
                        const std::string& other) {
    return types_defined_twice(
        {{"bench/coordinator/run/a.cpp", "namespace linkgain {\n" + text + "\n}"},
         {other_path, "namespace linkgain {\n" + other + "\n}"}});
  };
  const std::string exec = "bench/coordinator/exec/a.cpp";
  for (const char* type :
       {"struct A { int a; };", "class A final : public B { int b() { return 1; } };",
        "enum class A { a };", "template <typename T> struct A { T t; };"}) {
    EXPECT_THAT(found("struct A { int a; };", exec, type), SizeIs(1)) << type;
    EXPECT_THAT(found("struct A { int a; };", "include/linkgain/base/a.hpp", type), SizeIs(1))
        << type;
    EXPECT_THAT(found("struct A { int a; };", "bench/worker/runtime/a.cpp", type), IsEmpty())
        << type;
    EXPECT_THAT(found("namespace {" + std::string(type) + "}", exec, type), IsEmpty()) << type;
    EXPECT_THAT(found("struct B {" + std::string(type) + "};", exec, type), IsEmpty()) << type;
  }
  for (const char* none : {"struct A;", "template <> struct A<int> { int a; };",
                           "struct B::A { int a; };", "A f(struct A& a) { return a; }"}) {
    EXPECT_THAT(found("struct A { int a; };", exec, none), IsEmpty()) << none;
  }
}

TEST(UnitsThatIncludeEachOther, AreNamed) {
  const std::vector<SourceFile> files{{"bench/common/base/a.hpp", ""},
                                      {"bench/common/base/a.cpp", "#include \"b.hpp\"\n"},
                                      {"bench/common/base/b.hpp", ""},
                                      {"bench/common/base/b.cpp", "#include \"a.hpp\"\n"},
                                      {"bench/common/base/c.cpp", "#include \"a.hpp\"\n"}};
  EXPECT_THAT(units_that_include_each_other(files),
              ElementsAre("bench/common/base/a and bench/common/base/b"));
}

TEST(UnitsThatIncludeEachOther, MayBeHeadersAloneAndOfLikeNames) {
  const std::string backends = "bench/worker/backends/";
  const std::vector<SourceFile> alone{{backends + "a.hpp", "#include \"b.hpp\"\n"},
                                      {backends + "b.hpp", ""},
                                      {backends + "b.cpp", "#include \"a.hpp\"\n"}};
  EXPECT_THAT(units_that_include_each_other(alone), SizeIs(1));
  const std::vector<SourceFile> alike{
      {backends + "mpi/backend.hpp", ""},
      {backends + "mpi/backend.cpp", "#include \"nccl/backend.hpp\"\n"},
      {backends + "nccl/backend.hpp", ""},
      {backends + "nccl/backend.cpp", "#include \"mpi/backend.hpp\"\n"}};
  EXPECT_THAT(units_that_include_each_other(alike), SizeIs(1));
}

}  // namespace
}  // namespace linkgain::test
