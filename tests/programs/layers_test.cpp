#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "header_rules.hpp"
#include "layer_rules.hpp"

namespace linkgain::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr long kLongestFile = 300;

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// All C++ and CUDA files, and the templates that configure fills in, of the product.
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

/// Flat tables, listed with the reason.
std::set<std::string> files_that_may_be_long() {
  std::istringstream lines(
      read(std::filesystem::path(LINKGAIN_SOURCE_DIR) / "scripts" / "lib" / "long_files.txt"));
  std::set<std::string> paths;
  for (std::string line; std::getline(lines, line);) paths.insert(line.substr(0, line.find(' ')));
  return paths;
}

std::vector<std::string> violations(const std::string& path, const std::string& text) {
  const std::set<std::string> paths{
      "include/linkgain/core/units.hpp", "include/linkgain/runtime/engine.hpp",
      "include/linkgain/report/table.hpp", "bench/core/json_conversions.hpp", "kernels/fill.hpp"};
  return include_violations({path, text}, paths);
}

TEST(Tree, IncludesGoDownTheLayerTable) {
  const std::vector<SourceFile> files = source_tree();
  ASSERT_GT(files.size(), 50U);
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    std::ranges::copy(include_violations(file, paths_of(files)), std::back_inserter(found));
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(Tree, HeadersMirrorSources) {
  const std::vector<SourceFile> files = source_tree();
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    if (!is_header(file.path)) continue;
    if (const auto problem = mirror_violation(file, files)) found.push_back(*problem);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(Tree, FilesAreShort) {
  const std::set<std::string> tables = files_that_may_be_long();
  for (const SourceFile& file : source_tree()) {
    const long lines = std::ranges::count(file.text, '\n');
    if (!tables.contains(file.path)) {
      EXPECT_LE(lines, kLongestFile) << file.path;
    }
  }
}

TEST(Includes, GoDownOnly) {
  const std::string engine = "#include \"linkgain/runtime/engine.hpp\"\n";
  EXPECT_THAT(violations("bench/backends/mpi.cpp", engine), IsEmpty());
  EXPECT_THAT(violations("bench/core/case.cpp", engine),
              ElementsAre(HasSubstr("is of layer runtime, which core may not include")));
  EXPECT_THAT(violations("include/linkgain/coordinator/job.hpp", engine).size(), 1);
  EXPECT_THAT(
      violations("bench/report/csv.cpp", "#include " linkgain / runtime / engine.hpp "").size(), 1);
}

TEST(Includes, OfTheCoordinatorProgramLeaveTheWorkersLayersAlone) {
  const std::string engine = "#include \"linkgain/runtime/engine.hpp\"\n";
  EXPECT_THAT(violations("bench/programs/linkgain.cpp", engine).size(), 1);
  EXPECT_THAT(violations("bench/programs/linkgain_bench.cpp", engine), IsEmpty());
  EXPECT_THAT(violations("bench/programs/linkgain.cpp", "#include \"kernels/fill.hpp\"").size(), 1);
}

TEST(Includes, OfPrivateHeadersStayInTheirFolder) {
  EXPECT_THAT(violations("bench/core/case.cpp", "#include \"json_conversions.hpp\""), IsEmpty());
  EXPECT_THAT(violations("bench/report/csv.cpp", "#include \"json_conversions.hpp\"").size(), 1);
  EXPECT_THAT(violations("bench/report/csv.cpp", "#include \"bench/core/json_conversions.hpp\""),
              ElementsAre(HasSubstr("private")));
}

TEST(Includes, OfThirdPartyHeadersKeepToTheirLayers) {
  EXPECT_THAT(violations("bench/runtime/session.cpp", "#include <mpi.h>"), IsEmpty());
  EXPECT_THAT(violations("include/linkgain/runtime/session.hpp", "#include <mpi.h>"),
              ElementsAre(HasSubstr("too many")));
  EXPECT_THAT(violations("bench/coordinator/job.cpp", "# include  <mpi.h>").size(), 1);
  EXPECT_THAT(
      violations("include/linkgain/runtime/a.hpp", "#include <benchmark/benchmark.h>").size(), 1);
  for (const char* header : {"mpi.h", "cuda_runtime.h", "nccl.h", "CLI/CLI.hpp"}) {
    const std::string text = std::string("#include <") + header + ">\n";
    for (const char* layer : {"core", "report", "telemetry"}) {
      EXPECT_THAT(violations(std::string("bench/") + layer + "/a.cpp", text).size(), 1) << header;
    }
  }
  EXPECT_THAT(violations("bench/gpu/stream.cpp", "#include <cuda_runtime.h>"), IsEmpty());
  EXPECT_THAT(violations("bench/gpu/stream.cpp", "#include <nccl.h>").size(), 1);
  EXPECT_THAT(violations("bench/report/csv.cpp", "#include <nlohmann/json.hpp>").size(), 1);
}

TEST(Includes, OfUnknownHeadersNeedARow) {
  EXPECT_THAT(violations("bench/core/case.cpp", "#include <vector>\n#include <sys/types.h>"),
              IsEmpty());
  EXPECT_THAT(violations("bench/core/case.cpp", "#include <boost/any.hpp>").size(), 1);
  EXPECT_THAT(violations("bench/telemetry/nvml.cpp", "#include <nvml.h>").size(), 1);
  EXPECT_THAT(violations("bench/core/case.cpp", "#include <format>").size(), 1);
  EXPECT_THAT(violations("bench/core/case.cpp", "#include \"no_such.hpp\"").size(), 1);
}

TEST(NeedsSource, IsTrueForFunctionsWithoutBody) {
  EXPECT_TRUE(needs_source("namespace a { int f(int x = 3); }"));
  EXPECT_TRUE(needs_source("class A {\n public:\n  std::string g() const noexcept;\n};"));
  EXPECT_TRUE(needs_source("class A { bool operator==(const A&) const; };"));
  EXPECT_TRUE(needs_source("class A { A(); };"));
  EXPECT_TRUE(needs_source("int h() { return 1; }\nauto f() -> int;"));
}

TEST(NeedsSource, IsFalseForWhatAHeaderHolds) {
  EXPECT_FALSE(needs_source("inline int f() { g(); return h(); }"));
  EXPECT_FALSE(needs_source("struct A { virtual ~A() = default; virtual void f() = 0; };"));
  EXPECT_FALSE(needs_source("inline constexpr int kA = f(3);\nusing F = void(int);"));
  EXPECT_FALSE(needs_source("// int f();\n/* int g(); */\n#define F int f();\n"));
  EXPECT_FALSE(
      needs_source("struct A { std::string text = \"f();\"; int n() const { return f(); } };"));
  EXPECT_FALSE(
      needs_source("class A { A(int a) : a_(a), b_{f(a)} {} void f() override { g(); } };"));
  EXPECT_FALSE(needs_source("inline int f() { return 10'000 + '\\'' + '}'; g(); }"));
  EXPECT_FALSE(needs_source("enum class A { a, b };\nstatic_assert(f());\n"));
}

TEST(MirrorViolation, NamesTheSourceThatIsMissing) {
  const SourceFile header{"include/linkgain/core/units.hpp", "int f();"};
  EXPECT_THAT(mirror_violation(header, {header}).value_or(""), HasSubstr("bench/core/units.cpp"));
  EXPECT_FALSE(mirror_violation(header, {header, {"bench/core/units.cpp", ""}}));
  const SourceFile private_header{"bench/core/parts.hpp", "int f();"};
  EXPECT_TRUE(mirror_violation(private_header, {private_header}));
  EXPECT_FALSE(mirror_violation(
      private_header, {private_header, {"bench/core/a.cpp", "#include \"parts.hpp\"\n"}}));
}

}  // namespace
}  // namespace linkgain::testing
