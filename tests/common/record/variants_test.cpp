#include "linkgain/record/variants.hpp"

#include <gtest/gtest.h>

#include "support/situations.hpp"

namespace linkgain {
namespace {

Variant nccl(std::string_view text) { return parse_variant(text, {BackendKind::nccl, "2.28.3"}); }

TEST(BuiltInVariants, OfNcclSetExactlyTheseVariables) {
  const Environment host{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  Environment net = host;
  net["NCCL_SHM_DISABLE"] = "1";
  const std::vector<Variant> expected{
      {"p2p", {}}, {"host", host}, {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}}, {"net", net}};
  EXPECT_EQ(built_in_variants({BackendKind::nccl, "2.28.3"}), expected);
}

TEST(BuiltInVariants, ShutWindowsFromTheVersionThatHasTheSwitch) {
  const auto has_switch = [](std::string_view version, std::size_t variant) {
    return built_in_variants({BackendKind::nccl, std::string(version)})[variant].environment.count(
               "NCCL_WIN_ENABLE") == 1;
  };
  for (const char* version : {"", "2.19.3", "2.28", "2.28.3", "2.28.6", "2.9.6"}) {
    EXPECT_FALSE(has_switch(version, 1)) << version;
  }
  for (const char* version : {"", "2.9.6", "2.23.4"}) EXPECT_FALSE(has_log_switch(version));
  for (const char* version : {"2.24.3", "2.28.3", "3.0.0"}) EXPECT_TRUE(has_log_switch(version));
  for (const char* version : {"2.28.7", "2.28.10", "2.29.1", "2.30.7", "3.0.0"}) {
    EXPECT_TRUE(has_switch(version, 1)) << version;
    EXPECT_TRUE(has_switch(version, 3)) << version;
    EXPECT_FALSE(has_switch(version, 0)) << version;
    EXPECT_FALSE(has_switch(version, 2)) << version;
  }
  const Variant host = built_in_variants({BackendKind::nccl, "2.28.7"})[1];
  EXPECT_EQ(host.environment.at("NCCL_WIN_ENABLE"), "0");
}

TEST(BuiltInVariants, OfMpiSetExactlyTheseVariables) {
  const std::vector<Variant> expected{
      {"shared-memory", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader"}}},
      {"tcp",
       {{"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", "self,tcp"},
        {"OMPI_MCA_btl_tcp_if_include", "lo"}}}};
  EXPECT_EQ(built_in_variants({BackendKind::mpi, ""}), expected);
}

TEST(BuiltInVariants, OfMpiLetTcpGoFromHostToHost) {
  const VariantContext across{BackendKind::mpi, "", true};
  const std::vector<Variant> expected{
      {"shared-memory", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader,tcp"}}},
      {"tcp", {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}}}};
  EXPECT_EQ(built_in_variants(across), expected);
  EXPECT_EQ(built_in_variants({BackendKind::nccl, "2.28.9", true}),
            built_in_variants({BackendKind::nccl, "2.28.9", false}))
      << "NCCL finds its own way";
}

TEST(DefaultVariants, AreTheFirstTwo) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    const std::vector<Variant> all = built_in_variants({backend, "2.28.9"});
    const std::vector<Variant> two = default_variants({backend, "2.28.9"});
    EXPECT_EQ(two, std::vector<Variant>(all.begin(), all.begin() + 2));
  }
}

TEST(ParseVariant, KnowsTheBuiltInOnes) {
  for (const Variant& variant : built_in_variants({BackendKind::nccl, "2.28.3"})) {
    EXPECT_EQ(nccl(variant.name), variant);
  }
  EXPECT_EQ(parse_variant("tcp", {BackendKind::mpi, ""}).environment.size(), 3U);
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
  EXPECT_EQ(parse_variant("vader:OMPI_MCA_btl=self,vader", {BackendKind::mpi, ""})
                .environment.at("OMPI_MCA_btl"),
            "self,vader");
  EXPECT_EQ(nccl("end:NCCL_ALGO=Ring,").environment.at("NCCL_ALGO"), "Ring,");
}

TEST(ParseVariant, MayHaveALibraryAndAWorkerOfItsOwn) {
  const Variant own = nccl("new:NCCL_ALGO=Ring,nccl=/a,b/lib,worker=/w/linkgain-bench");
  EXPECT_EQ(own.nccl, "/a,b/lib");
  EXPECT_EQ(own.worker, "/w/linkgain-bench");
  EXPECT_EQ(own.environment, (Environment{{"NCCL_ALGO", "Ring"}}));
  EXPECT_EQ(nccl("host:nccl=/n").environment, nccl("host").environment);
  EXPECT_EQ(nccl("host:nccl=/n").nccl, "/n");
  EXPECT_EQ(nccl("new-host:host,nccl=/n").environment, nccl("host").environment);
  EXPECT_EQ(nccl("ring-host:host,NCCL_ALGO=Ring").environment.size(),
            nccl("host").environment.size() + 1);
}

TEST(ParseVariant, RefusesWhatIsNoVariant) {
  test::Situations answers;
  answers.about("without a name");
  answers.refuse_each({"", ":", ":NCCL_ALGO=Ring"}, nccl);
  answers.about("names that do not fit into file names");
  answers.refuse_each({"a b:A=1", "a/b:A=1", "../x:A=1", "a.b:A=1", "µ:A=1"}, nccl);
  answers.about("without variables");
  answers.refuse_each({"ring:", "ring:NCCL_ALGO", "ring:=Ring", "ring:,A=1", "ring:a b=1"}, nccl);
  answers.about("unknown, or built in");
  answers.refuse_each({"hots", "host:NCCL_ALGO=Ring", "host:p2p,nccl=/n", "x:hots,nccl=/n"}, nccl);
  answers.refuse("p2p over MPI", [] { parse_variant("p2p", {BackendKind::mpi, "2.28.3"}); });
  answers.about("together");
  answers.refuse("none", [] { require_distinct({}); });
  answers.refuse("a, b and a", [] {
    require_distinct({{"a", {}}, {"b", {}}, {"a", {{"A", "1"}}}});
  });
  answers.expect_golden("variants_refused.txt");
}

TEST(RequireDistinct, TakesTwoNames) { EXPECT_NO_THROW(require_distinct({{"a", {}}, {"b", {}}})); }

}  // namespace
}  // namespace linkgain
