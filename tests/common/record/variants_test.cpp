#include "linkgain/record/variants.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

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
      << "NCCL finds its own way";
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

TEST(ParseVariant, NamesAnNcclForWorkersAndForPrograms) {
  EXPECT_EQ(nccl("new:nccl=/opt/nccl,NCCL_ALGO=Ring"),
            (Variant{"new", {{"LINKGAIN_NCCL", "/opt/nccl"}, {"NCCL_ALGO", "Ring"}}}));
  const std::string relative = nccl("new:nccl=here/libnccl.so.2").environment.at("LINKGAIN_NCCL");
  EXPECT_EQ(relative, std::filesystem::absolute("here/libnccl.so.2").string())
      << "ranks may start in another folder";
  const auto of_program = [](const char* text) {
    return parse_variant(text, {BackendKind::exec}).environment.at("LD_LIBRARY_PATH");
  };
  ::setenv("LD_LIBRARY_PATH", "/opt/other", 1);
  EXPECT_EQ(of_program("new:nccl=/opt/nccl/libnccl.so.2"), "/opt/nccl:/opt/other");
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(of_program("new:nccl=/usr"), "/usr") << "a folder";
}

TEST(ParseVariant, RefusesWhatIsNoVariant) {
  Situations answers;
  answers.about("without a name");
  answers.refuse_each({"", ":", ":NCCL_ALGO=Ring"}, nccl);
  answers.about("names that do not fit into file names");
  answers.refuse_each({"a b:A=1", "a/b:A=1", "../x:A=1", "a.b:A=1", "µ:A=1"}, nccl);
  answers.about("without variables");
  answers.refuse_each({"ring:", "ring:NCCL_ALGO", "ring:=Ring", "ring:,A=1", "ring:a b=1"}, nccl);
  answers.about("of variables that no shell takes");
  answers.refuse_each({"a:1A=1", "a:A-B=1", "a:A B=1"}, nccl);
  answers.about("unknown, or built in");
  answers.refuse_each({"hots", "host:NCCL_ALGO=Ring"}, nccl);
  answers.refuse("p2p over MPI", [] { parse_variant("p2p", {BackendKind::mpi}); });
  answers.about("an NCCL that is none");
  answers.refuse_each({"new:nccl=", "new:A=1,nccl="}, nccl);
  answers.refuse("for MPI", [] { parse_variant("new:nccl=/opt/nccl", {BackendKind::mpi}); });
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
  EXPECT_EQ(nccl_text(OpenedNccl{"2.28.9", "", ""}), "2.28.9");
  Software software;
  EXPECT_EQ(nccl_text(software), "");
  software.nccl_header = "2.28.9";
  software.nccl_library = "2.28.9";
  software.nccl_path = "/opt/libnccl.so.2";
  software.nccl_found_by = "loader";
  EXPECT_EQ(nccl_text(software), "2.28.9, /opt/libnccl.so.2 (loader)");
  software.nccl_library = "2.21.5";
  EXPECT_EQ(nccl_text(software), "2.21.5 (built with 2.28.9), /opt/libnccl.so.2 (loader)");
}

TEST(NcclText, TellsWhetherVariantsDiffer) {
  Settings settings;
  EXPECT_FALSE(nccl_differs(settings));
  settings.nccl_in_force = {{"2.28.9", "/a", "loader"}, {"2.28.9", "/a", "NCCL_HOME"}};
  EXPECT_FALSE(nccl_differs(settings));
  settings.nccl_in_force[1].path = "/b";
  EXPECT_TRUE(nccl_differs(settings));
}

TEST(RequireDistinct, TakesTwoNames) { EXPECT_NO_THROW(require_distinct({{"a", {}}, {"b", {}}})); }

}  // namespace
}  // namespace linkgain::test
