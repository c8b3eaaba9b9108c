#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline_members.hpp"
#include "linkgain/base/json.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Baseline full_baseline() {
  const Record record = run_of(
      {{sized(8), "p2p", {1e-3, 1.01e-3}}, {sized(1 << 20), "host", {2e-3}, Path::host_memory}});
  const NamedRecord named{"r", record};
  Baseline baseline = make_baseline({&named, 1}, {-0.04, std::nullopt}, "2026-01-02");
  baseline.overrides = {{"*/8B/*", "p2p", std::optional<double>(), std::optional<double>(0.1)},
                        {"all_reduce*", "*", std::nullopt, std::nullopt}};
  baseline.key.links[0].ancestor = Ancestor::phb;
  baseline.key.links[0].nvlinks = 18;
  baseline.key.nvlinks[1].reset();
  return baseline;
}

Json document() { return Json::parse(to_json(full_baseline())); }

/// Returns what parse_baseline() says against a document; "accepted" when it does not.
std::string refusal(const Json& document) {
  const std::string text = thrown_by([&] { parse_baseline(document.dump(), "b.json"); });
  return text == "nothing" ? "accepted" : text;
}

Json with(const char* place, const Json& value) {
  Json changed_document = document();
  changed_document[Json::json_pointer(place)] = value;
  return changed_document;
}

TEST(BaselineJson, RoundTrips) {
  Baseline baseline = full_baseline();
  baseline.cases[1].resolution = 0.25;
  const Baseline read = parse_baseline(to_json(baseline), "b.json");
  EXPECT_EQ(json::write(read.key), json::write(baseline.key));
  EXPECT_EQ(read.variants, baseline.variants);
  EXPECT_EQ(read.sources, baseline.sources);
  EXPECT_EQ(read.warnings, baseline.warnings);
  ASSERT_EQ(read.cases.size(), baseline.cases.size());
  for (std::size_t i = 0; i < read.cases.size(); ++i) {
    EXPECT_EQ(read.cases[i].definition, baseline.cases[i].definition);
    EXPECT_EQ(read.cases[i].path, baseline.cases[i].path);
    EXPECT_EQ(read.cases[i].time, baseline.cases[i].time);
    EXPECT_EQ(read.cases[i].launches, baseline.cases[i].launches);
    EXPECT_EQ(read.cases[i].tolerance, baseline.cases[i].tolerance);
    EXPECT_EQ(read.cases[i].between_launches, baseline.cases[i].between_launches);
    EXPECT_EQ(read.cases[i].launch_times, baseline.cases[i].launch_times);
    EXPECT_EQ(read.cases[i].resolution, baseline.cases[i].resolution);
  }
  EXPECT_EQ(to_json(read), to_json(baseline)) << "overrides, and whatever is not named above";
}

TEST(BaselineJson, HasTheDeviationBetweenRunsWhereItIsKnown) {
  Baseline baseline = full_baseline();
  EXPECT_FALSE(document()["cases"][0].contains("between_runs")) << "as in older ones";
  baseline.cases[0].between_runs = RunDeviation{5, {0.01, 4, true}};
  const Baseline read = parse_baseline(to_json(baseline), "b.json");
  EXPECT_EQ(read.cases[0].between_runs->runs, 5);
  EXPECT_EQ(read.cases[0].between_runs->deviation, baseline.cases[0].between_runs->deviation);
  EXPECT_FALSE(read.cases[1].between_runs);
  for (const char* harm : {R"({"runs": 2})", R"({"spread": 0})", R"({"spread": null})",
                           R"({"degrees_of_freedom": 0})", R"({"colour": 1})"}) {
    Json changed_document = Json::parse(to_json(baseline));
    changed_document["cases"][0]["between_runs"].update(Json::parse(harm));
    EXPECT_THAT(refusal(changed_document), HasSubstr("between_runs")) << harm;
  }
}

TEST(BaselineJson, HasTheDigestsOfRecordsThatHaveOne) {
  Baseline baseline = full_baseline();
  EXPECT_FALSE(document()["sources"][0].contains("digest")) << "as in older ones";
  baseline.sources[0].digest = "mix64:0123456789abcdef";
  baseline.sources[0].program = "sh train.sh";
  EXPECT_EQ(parse_baseline(to_json(baseline), "b.json").sources, baseline.sources);
  EXPECT_THAT(refusal(with("/sources/0/digest", "other")), HasSubstr("[sources][0][digest]"));
}

TEST(BaselineJson, HoldsWhatWasInForceWhereThatIsKnown) {
  Baseline baseline = full_baseline();
  EXPECT_FALSE(document()["variants"][0].contains("environment_in_force")) << "as in older ones";
  baseline.variants[0].in_force = Environment{};
  baseline.variants[1].in_force = Environment{{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_EQ(parse_baseline(to_json(baseline), "b.json").variants, baseline.variants);
  EXPECT_THAT(refusal(with("/variants/0/environment_in_force", Json{{"NCCL_ALGO", 1}})),
              HasSubstr("[environment_in_force][NCCL_ALGO]"));
}

TEST(BaselineJson, FromBeforeLinksWereCountedIsRead) {
  Json older = document();
  EXPECT_EQ(older["key"]["links"][0]["nvlinks"], 18);
  older["key"]["links"][0].erase("nvlinks");
  EXPECT_EQ(parse_baseline(older.dump(), "b.json").key.links[0].nvlinks, std::nullopt);
  EXPECT_THAT(refusal(with("/key/links/0/nvlinks", -1)), HasSubstr("[links][0][nvlinks]"));
  EXPECT_THAT(refusal(with("/key/links/0/nvlinks", nullptr)), "accepted");
}

TEST(BaselineJson, HasALineForEachCase) {
  const std::string text = to_json(full_baseline());
  EXPECT_THAT(text, HasSubstr("\n {\"case\":\"all_reduce/float32/sum/8B/np2\",\"variant\":\"p2p\","
                              "\"path\":\"nvlink\",\"time_s\":"));
  EXPECT_THAT(text, HasSubstr("\"lower\":-0.04,\"upper\":null,\"launches\":2,\"spread\":"));
  EXPECT_THAT(text, StartsWith("{\n\"schema\": \"linkgain.baseline/1\",\n\"made\": "));
}

TEST(BaselineJson, RefusesNewerVersionsAndOtherDocuments) {
  const std::string cut_short = thrown_by([] { parse_baseline("{\"schema\": ", "b.json"); });
  expect_golden(refusal(with("/schema", "linkgain.baseline/2")) + "\n" +
                    refusal(with("/schema", "linkgain.record/1")) + "\n" + refusal(Json::array()) +
                    "\n" + refusal(with("/schema", 5)) + "\n" + cut_short + "\n" +
                    refusal(with("/cases/0/spread", 0)) + "\n",
                "refused_documents.txt");
}

TEST(BaselineJson, SaysWhereADocumentDeparts) {
  EXPECT_THAT(refusal(with("/cases/1/time_s", "fast")), HasSubstr("baseline[cases][1][time_s]"));
  EXPECT_THAT(refusal(with("/cases/0/time_s", 0.0)), HasSubstr("[cases][0][time_s]"));
  EXPECT_THAT(refusal(with("/cases/0/uper", 0.1)), HasSubstr("uper"));
  EXPECT_THAT(refusal(with("/cases/0/lower", 0.05)), HasSubstr("[cases][0][lower]"));
  EXPECT_THAT(refusal(with("/cases/0/lower", -1)), HasSubstr("[cases][0][lower]"));
  EXPECT_THAT(refusal(with("/cases/0/upper", -0.05)), HasSubstr("[cases][0][upper]"));
  EXPECT_THAT(refusal(with("/cases/0/path", "warp")), HasSubstr("[cases][0][path]"));
  EXPECT_THAT(refusal(with("/key/links/0/ancestor", "NEAR")), HasSubstr("[ancestor]"));
  EXPECT_THAT(refusal(with("/overrides/0", Json{{"upper", 0.1}})), HasSubstr("'cases'"));
  EXPECT_THAT(refusal(with("/cases", Json::array())), HasSubstr("[cases]"));
  EXPECT_THAT(refusal(with("/cases/0/case", "all_reduc/float32/sum/8B/np2")),
              AllOf(HasSubstr("b.json: "), HasSubstr("all_reduce")));
}

/// Keeps sums and products from overflowing.
TEST(BaselineJson, RefusesNumbersThatCannotBe) {
  for (const char* place : {"/cases/0/launches", "/cases/0/degrees_of_freedom"}) {
    EXPECT_EQ(refusal(with(place, 1000000)), "accepted") << place;
    EXPECT_THAT(refusal(with(place, 2147483647)), HasSubstr("not a valid baseline")) << place;
  }
  EXPECT_THAT(refusal(with("/cases/0/time_s", 1e-310)), HasSubstr("[cases][0][time_s]"));
  EXPECT_THAT(refusal(with("/cases/0/time_s", 1e308)), HasSubstr("[cases][0][time_s]"));
  EXPECT_THAT(refusal(with("/cases/0/spread", 1e300)), HasSubstr("[cases][0][spread]"));
}

TEST(BaselineJson, TakesEditedBounds) {
  const Baseline read = parse_baseline(with("/cases/0/lower", nullptr).dump(), "b.json");
  EXPECT_EQ(read.cases[0].tolerance.lower, std::nullopt);
  Json without = document();
  without["cases"][0].erase("busbw_gb_per_s");
  without["cases"][0].erase("launch_times_s");
  without["cases"][0].erase("pool");
  EXPECT_EQ(refusal(without), "accepted");
}

TEST(BaselineJson, FindsATimeThatWasChangedWithoutItsBandwidth) {
  EXPECT_THAT(refusal(with("/cases/1/time_s", 4e-3)),
              AllOf(HasSubstr("all_reduce/float32/sum/1MiB/np2 with host: time_s says"),
                    HasSubstr("busbw_gb_per_s")));
}

TEST(BaselineJson, RefusesADeviationOfNothing) {
  EXPECT_THAT(refusal(with("/cases/0/spread", 0)),
              StartsWith("b.json: all_reduce/float32/sum/8B/np2 with p2p: "));
  EXPECT_THAT(refusal(with("/cases/0/spread", -0.01)), HasSubstr("[cases][0][spread]"));
  EXPECT_EQ(refusal(with("/cases/0/spread", nullptr)), "accepted");
}

TEST(BaselineJson, HoldsNoCaseTwice) {
  Json twice = document();
  twice["cases"].push_back(twice["cases"][0]);
  EXPECT_THAT(refusal(twice), StartsWith("b.json: all_reduce/float32/sum/8B/np2 with p2p"));
}

TEST(BaselineJson, IsReadFromAFile) {
  EXPECT_THAT(thrown_by([] { read_baseline("/no/such/file"); }),
              HasSubstr("cannot read /no/such/file"));
  EXPECT_THAT(thrown_by([] { read_baseline("/tmp"); }), HasSubstr("cannot read /tmp"));
}

}  // namespace
}  // namespace linkgain::test
