#include "linkgain/record/variants.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "linkgain/base/errors.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

Variant nccl(std::string_view text) { return parse_variant(text, {BackendKind::nccl}); }

TEST(BuiltInVariants, OfNcclSetExactlyTheseVariables) {
  const Environment host{
      {"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_WIN_ENABLE", "0"}};
  Environment net = host;
  net["NCCL_SHM_DISABLE"] = "1";
  const std::vector<Variant> expected{
      {"p2p", {}}, {"host", host}, {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}}, {"net", net}};
  EXPECT_EQ(built_in_variants({BackendKind::nccl}), expected);
}

TEST(NcclVersionCode, IsNcclsOwn) {
  EXPECT_EQ(nccl_version_code("2.28.7"), 22807);
  EXPECT_EQ(nccl_version_code("2.28.9+cuda13.0"), 22809);
  EXPECT_EQ(nccl_version_code("2.9"), 20900);
  for (const char* text : {"", "2", ".28.9", "2.x.1", "2.28.7.1", "2.28.", "2.-1.0", "99999.1.1"}) {
    EXPECT_EQ(nccl_version_code(text), std::nullopt) << text;
  }
}

TEST(NcclVersions, HaveTheSwitchesOfWindowsAndOfTheLogFromTheirFirst) {
  for (const char* version : {"", "2.19.3", "2.28", "2.28.3", "2.28.6", "2.9.6"}) {
    EXPECT_FALSE(has_window_switch(version)) << version;
  }
  for (const char* version : {"2.28.7", "2.28.10", "2.29.1", "2.30.7", "3.0.0"}) {
    EXPECT_TRUE(has_window_switch(version)) << version;
  }
  for (const char* version : {"", "2.9.6", "2.23.4"}) EXPECT_FALSE(has_log_switch(version));
  for (const char* version : {"2.24.3", "2.28.3", "3.0.0"}) EXPECT_TRUE(has_log_switch(version));
}

TEST(BuiltInVariants, OfMpiSetExactlyTheseVariables) {
  const std::vector<Variant> expected{
      {"shared-memory", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader"}}},
      {"tcp",
       {{"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", "self,tcp"},
        {"OMPI_MCA_btl_tcp_if_include", "lo"}}}};
  EXPECT_EQ(built_in_variants({BackendKind::mpi}), expected);
}

TEST(BuiltInVariants, OfMpiLetTcpGoFromHostToHost) {
  const VariantContext across{BackendKind::mpi, true};
  const std::vector<Variant> expected{
      {"shared-memory", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader,tcp"}}},
      {"tcp", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}}}};
  EXPECT_EQ(built_in_variants(across), expected);
  EXPECT_EQ(built_in_variants({BackendKind::nccl, true}),
            built_in_variants({BackendKind::nccl, false}))
      << "NCCL chooses its own path";
}

TEST(DefaultVariants, AreTheFirstTwo) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    const std::vector<Variant> all = built_in_variants({backend});
    const std::vector<Variant> two = default_variants({backend});
    EXPECT_EQ(two, std::vector<Variant>(all.begin(), all.begin() + 2));
  }
}

TEST(ParseVariant, KnowsTheBuiltInOnes) {
  for (const Variant& variant : built_in_variants({BackendKind::nccl})) {
    EXPECT_EQ(nccl(variant.name), variant);
  }
  EXPECT_EQ(parse_variant("tcp", {BackendKind::mpi}).environment.size(), 3U);
}

TEST(ParseVariant, ReadsAssignments) {
  EXPECT_EQ(nccl("ring:NCCL_ALGO=Ring"), (Variant{"ring", {{"NCCL_ALGO", "Ring"}}}));
  EXPECT_EQ(nccl("ll_2-x:NCCL_ALGO=Ring,NCCL_PROTO=LL"),
            (Variant{"ll_2-x", {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}}}));
  EXPECT_EQ(nccl("empty:NCCL_ALGO="), (Variant{"empty", {{"NCCL_ALGO", ""}}}));
  EXPECT_EQ(nccl("colon:NCCL_ALGO=allreduce:ring;broadcast:tree").environment.at("NCCL_ALGO"),
            "allreduce:ring;broadcast:tree");
  EXPECT_EQ(nccl("sign:A==b=c").environment.at("A"), "=b=c");
}

TEST(ParseVariant, ValuesMayHoldCommas) {
  EXPECT_EQ(nccl("two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL,LL128,Simple"),
            (Variant{"two", {{"NCCL_ALGO", "Ring,Tree"}, {"NCCL_PROTO", "LL,LL128,Simple"}}}));
  EXPECT_EQ(parse_variant("vader:OMPI_MCA_btl=self,vader", {BackendKind::mpi})
                .environment.at("OMPI_MCA_btl"),
            "self,vader");
  EXPECT_EQ(nccl("end:NCCL_ALGO=Ring,").environment.at("NCCL_ALGO"), "Ring,");
}

TEST(ParseVariant, TakesVariablesOfTheCallersAway) {
  EXPECT_EQ(nccl("plain:-NCCL_ALGO"),
            (Variant{.name = "plain", .environment = {}, .unset = {"NCCL_ALGO"}}));
  EXPECT_EQ(nccl("ring:NCCL_ALGO=Ring,-GGML_CUDA_P2P,-A1,NCCL_PROTO=LL"),
            (Variant{.name = "ring",
                     .environment = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}},
                     .unset = {"GGML_CUDA_P2P", "A1"}}));
  const Variant staged = nccl("staged:host,-NCCL_WIN_ENABLE");
  EXPECT_EQ(staged.unset, std::vector<std::string>{"NCCL_WIN_ENABLE"});
  EXPECT_FALSE(staged.environment.contains("NCCL_WIN_ENABLE")) << "the built-in variant's, too";
  EXPECT_TRUE(staged.environment.contains("NCCL_P2P_DISABLE"));
  EXPECT_EQ(nccl("flags:LDFLAGS=-Wl,-rpath,-z").environment.at("LDFLAGS"), "-Wl,-rpath,-z");
}

TEST(ParseVariant, TakesFilesBesideVariables) {
  EXPECT_EQ(nccl("new:nccl=/opt/a,b,NCCL_ALGO=Ring,worker=build/bin"),
            (Variant{.name = "new",
                     .environment = {{"NCCL_ALGO", "Ring"}},
                     .nccl = "/opt/a,b",
                     .worker = "build/bin"}));
  Variant host = nccl("host");
  host.nccl = "/opt/nccl";
  EXPECT_EQ(nccl("host:nccl=/opt/nccl"), host) << "with its own variables";
  EXPECT_EQ(nccl("on:host,NCCL_P2P_DISABLE=0").environment.at("NCCL_P2P_DISABLE"), "0")
      << "in the place of its";
  host.name = "new-host";
  host.environment["NCCL_ALGO"] = "Ring";
  EXPECT_EQ(nccl("new-host:host,nccl=/opt/nccl,NCCL_ALGO=Ring"), host);
  EXPECT_EQ(parse_variant("old:tcp,worker=w", {BackendKind::mpi}).environment,
            parse_variant("tcp", {BackendKind::mpi}).environment);
}

/// A folder with NCCLs and a worker.
class VariantFiles : public testing::Test {
 protected:
  VariantFiles() {
    put("wheel/nvidia/nccl/lib/libnccl.so.2");
    put("system/libnccl.so.2.28.9");
    std::filesystem::create_symlink("libnccl.so.2.28.9", folder_ / "system/libnccl.so.2");
    put("odd/nccl-debug.so");
    std::filesystem::permissions(put("bin/linkgain-bench"), std::filesystem::perms::owner_all);
  }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name) const {
    const std::filesystem::path file = at(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << name;
    return file.string();
  }
  static Variant found(const std::string& text, BackendKind backend = BackendKind::nccl,
                       bool several_hosts = false) {
    const VariantContext context{backend, several_hosts};
    return with_files(parse_variant(text, context), context);
  }

  test::ScratchFolder folder_;
};

TEST_F(VariantFiles, AreOpenedByWorkersAndFoundByTheLoaderOfPrograms) {
  const ScopedEnvironment no_others("LD_LIBRARY_PATH", std::nullopt);
  const std::string wheel = at("wheel/nvidia/nccl/lib/libnccl.so.2");
  const std::string system = at("system/libnccl.so.2.28.9");
  for (const auto& [named, file] :
       std::map<std::string, std::string>{{at("wheel"), wheel},
                                          {at("wheel/nvidia/nccl"), wheel},
                                          {wheel, wheel},
                                          {at("system"), system},
                                          {at("system/libnccl.so.2"), system},
                                          {system, system}}) {
    const Variant worker = found("new:nccl=" + named);
    EXPECT_EQ(worker.nccl, file);
    EXPECT_EQ(worker.environment, (Environment{{"LINKGAIN_NCCL", file}})) << named;
    const Variant program = found("new:nccl=" + named, BackendKind::exec);
    EXPECT_EQ(program.nccl, file);
    EXPECT_EQ(program.environment.at("LD_LIBRARY_PATH"),
              std::filesystem::path(file).parent_path().string())
        << named;
  }
}

TEST_F(VariantFiles, OfALibraryComeBeforeTheOtherFoldersOfTheLoader) {
  const ScopedEnvironment others("LD_LIBRARY_PATH", "/opt/other");
  EXPECT_EQ(found("new:nccl=" + at("system"), BackendKind::exec).environment.at("LD_LIBRARY_PATH"),
            at("system") + ":/opt/other");
  EXPECT_EQ(found("new:LD_LIBRARY_PATH=/opt/own,nccl=" + at("system"), BackendKind::exec)
                .environment.at("LD_LIBRARY_PATH"),
            at("system") + ":/opt/own");
}

TEST_F(VariantFiles, OfOtherHostsMayBeMissingHere) {
  const Variant there = found("new:nccl=there/libnccl.so.2", BackendKind::nccl, true);
  EXPECT_EQ(there.environment.at("LINKGAIN_NCCL"),
            std::filesystem::absolute("there/libnccl.so.2").string())
      << "ranks may start in another folder";
}

TEST_F(VariantFiles, NameAWorkerByItsFolderToo) {
  for (const char* name : {"", "bin", "bin/linkgain-bench"}) {
    EXPECT_EQ(found("old:tcp,worker=" + at(name), BackendKind::mpi).worker,
              at("bin/linkgain-bench"));
  }
}

TEST_F(VariantFiles, AreRefusedWhereTheyAreNotThere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  Situations answers;
  answers.refuse("no library", [] { found("new:nccl=/none"); });
  answers.refuse("no library in a folder", [] { found("new:nccl=/dev"); });
  answers.refuse("a library for MPI", [] { found("new:tcp,nccl=system", BackendKind::mpi); });
  answers.refuse("no worker", [] { found("old:worker=system"); });
  answers.refuse("a worker for a program", [] { found("old:worker=bin", BackendKind::exec); });
  answers.expect_golden("variant_files_refused.txt");
  EXPECT_THROW(found("new:nccl=odd/nccl-debug.so", BackendKind::exec), UsageError)
      << "the loader does not look for that name";
  EXPECT_EQ(found("new:nccl=odd/nccl-debug.so").nccl, at("odd/nccl-debug.so"));
  std::filesystem::current_path(before);
}

TEST(ParseVariant, RefusesWhatIsNoVariant) {
  Situations answers;
  answers.about("without a name");
  answers.refuse_each({"", ":", ":NCCL_ALGO=Ring", "NCCL_ALGO=Ring"}, nccl);
  answers.refuse_each({"NCCL_NET=a=b", "nccl=/a=b", "ll=NCCL_PROTO=LL"}, nccl);
  answers.refuse_each({"p2p,ring=NCCL_ALGO=Ring,NCCL_PROTO=Simple"}, nccl);
  answers.about("names that do not fit into file names");
  answers.refuse_each({"a b:A=1", "a/b:A=1", "../x:A=1", "a.b:A=1", "µ:A=1", "p2p,host"}, nccl);
  answers.refuse("65 letters", [] { nccl(std::string(65, 'a') + ":A=1"); });
  EXPECT_EQ(nccl(std::string(64, 'a') + ":A=1").name, std::string(64, 'a'));
  answers.about("without variables");
  EXPECT_TRUE(nccl("old:").environment.empty());
  answers.refuse_each({"ring:NCCL_ALGO", "ring:=Ring", "ring:,A=1", "ring:a b=1"}, nccl);
  answers.about("of variables that no shell takes");
  answers.refuse_each({"a:1A=1", "a:A-B=1", "a:A B=1"}, nccl);
  answers.about("unknown, or built in");
  answers.refuse_each({"hots", "host:NCCL_ALGO=Ring"}, nccl);
  answers.refuse("p2p over MPI", [] { parse_variant("p2p", {BackendKind::mpi}); });
  answers.refuse_each({"mine:host,p2p", "mine:ring,A=1", "host:-A", "mine:-A,host"}, nccl);
  answers.about("taken away by no name");
  answers.refuse_each({"a:-", "a:-a", "a:-1", "a:-A=1"}, nccl);
  answers.about("files without a path");
  answers.refuse_each({"new:nccl=", "new:A=1,nccl=", "new:worker=,A=1"}, nccl);
  answers.about("a variable twice");
  answers.refuse_each({"a:A=1,A=2", "a:A=1,B=2,A=1", "a:A=1,-A", "new:nccl=a,nccl=b"}, nccl);
  answers.about("together");
  answers.refuse("none", [] { require_distinct({}); });
  answers.refuse("17", [] {
    std::vector<Variant> variants;
    for (int i = 0; i < 17; ++i) variants.push_back({"v" + std::to_string(i), {}});
    require_distinct(variants);
  });
  answers.refuse("a, b and a", [] {
    require_distinct({{"a", {}}, {"b", {}}, {"a", {{"A", "1"}}}});
  });
  answers.expect_golden("variants_refused.txt");
}

TEST(NcclText, NamesVersionFileAndWhatNamedIt) {
  Software software;
  EXPECT_EQ(nccl_text(software), "");
  software.nccl_header = "2.28.9";
  software.nccl_library = "2.28.9";
  software.nccl_path = "/opt/libnccl.so.2";
  software.nccl_found_by = "loader";
  EXPECT_EQ(nccl_text(software), "2.28.9, /opt/libnccl.so.2 (loader)");
  software.nccl_library = "2.21.5";
  EXPECT_EQ(nccl_text(software), "2.21.5 (built with 2.28.9), /opt/libnccl.so.2 (loader)");
  Software of_program;
  of_program.nccl_library = "2.28.9";
  of_program.nccl_build = "2.28.9+cuda13.0";
  EXPECT_EQ(nccl_text(of_program), "2.28.9+cuda13.0");
  of_program.nccl_path = "/opt/libnccl.so.2";
  EXPECT_EQ(nccl_text(of_program), "2.28.9+cuda13.0, /opt/libnccl.so.2");
}

TEST(NcclText, TellsWhetherVariantsDiffer) {
  Settings settings;
  EXPECT_FALSE(nccl_differs(settings));
  settings.software_in_force.resize(2);
  for (Software& each : settings.software_in_force) each.nccl_path = "/a";
  EXPECT_FALSE(nccl_differs(settings));
  settings.software_in_force[1].nccl_path = "/b";
  EXPECT_TRUE(nccl_differs(settings));
  settings.software_in_force[1] = settings.software_in_force[0];
  settings.software_in_force[1].nccl_library = "2.28.9";
  EXPECT_TRUE(nccl_differs(settings)) << "not known of the first";
}

TEST(RequireDistinct, TakesTwoNames) { EXPECT_NO_THROW(require_distinct({{"a", {}}, {"b", {}}})); }

}  // namespace
}  // namespace linkgain::test
