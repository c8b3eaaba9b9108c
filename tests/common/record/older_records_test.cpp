#include <gtest/gtest.h>

#include "linkgain/base/json.hpp"
#include "linkgain/record/record_members.hpp"
#include "support/full_record.hpp"

/// Records of the time before a member came in.
namespace linkgain::test {
namespace {

using Json = nlohmann::ordered_json;

/// Of the first version, without a digest.
Json older_document() {
  Json document = Json::parse(to_json(full_record()));
  document["schema"] = kOlderSchema;
  document.erase("digest");
  return document;
}

/// A record of the time before evidence and health has none of their members.
TEST(OlderRecords, AreReadWithoutEvidenceAndHealth) {
  Json document = older_document();
  for (Json& result : document["cases"]) {
    for (Json& variant : result["variants"]) {
      for (const char* key : {"evidence", "fraction_of_limit", "limit", "health"}) {
        variant.erase(key);
      }
    }
  }
  for (const char* key : {"require_healthy", "label", "cases_digest"}) {
    document["settings"].erase(key);
  }
  for (Json& rank : document["machine"]["ranks"]) rank.erase("host_copy");
  for (Json& link : document["machine"]["links"]) {
    for (const char* key : {"ancestor", "nvlinks", "label"}) link.erase(key);
  }
  const Record record = parse_record(document.dump(), "");
  const VariantResult& variant = record.cases[0].variants[0];
  EXPECT_FALSE(variant.evidence);
  EXPECT_FALSE(variant.fraction_of_limit);
  EXPECT_EQ(variant.limit, LimitKind::unknown);
  EXPECT_EQ(variant.health.samples, 16) << "as its samples say";
  EXPECT_FALSE(record.settings.require_healthy);
  EXPECT_EQ(record.settings.label, "");
  EXPECT_EQ(record.settings.cases_digest, "");
  EXPECT_FALSE(record.machine.ranks[0].host_copy);
  EXPECT_FALSE(record.machine.links[0].ancestor);
  EXPECT_FALSE(record.machine.links[0].nvlinks);
}

/// All links had the rate of one in records that do not tell their sum.
TEST(OlderRecords, AreReadWithoutTheSumOfNvlinks) {
  Json document = older_document();
  EXPECT_EQ(document["machine"]["ranks"][0]["gpu"].erase("nvlink_total_gb_per_s"), 1U);
  const GpuInfo gpu = *parse_record(document.dump(), "").machine.ranks[0].gpu;
  EXPECT_FALSE(gpu.nvlink_total_gb_per_s);
  EXPECT_DOUBLE_EQ(nvlink_total(gpu).value(), 17 * 26.562);
}

TEST(OlderRecords, AreReadWithoutNeighbours) {
  Json document = older_document();
  EXPECT_EQ(document.erase("neighbours"), 1U);
  EXPECT_EQ(document["samples"].erase("disturbed"), 1U);
  for (const char* key : {"disturbed_samples", "level_shift"}) {
    EXPECT_EQ(document["cases"][0]["variants"][0].erase(key), 1U) << key;
  }
  const Record record = parse_record(document.dump(), "");
  EXPECT_FALSE(record.neighbours);
  EXPECT_EQ(record.cases[0].variants[0].disturbed_samples, 0);
  for (const Sample& sample : record.cases[0].samples) EXPECT_FALSE(sample.disturbed);
}

TEST(OlderRecords, AreReadWithoutMarksOfWhatWasNotVerified) {
  Json document = older_document();
  EXPECT_EQ(document["samples"].erase("unverified"), 1U);
  for (const CaseResult& result : parse_record(document.dump(), "").cases) {
    for (const Sample& sample : result.samples) EXPECT_FALSE(sample.unverified);
  }
}

TEST(OlderRecords, AreReadWithoutAReasonOfPcie) {
  Json document = older_document();
  Json& evidence = document["cases"][0]["variants"][1]["evidence"];
  EXPECT_EQ(evidence.erase("pcie_reason"), 1U);
  const Record record = parse_record(document.dump(), "");
  EXPECT_EQ(record.cases[0].variants[1].evidence->pcie_reason, "");
}

TEST(OlderRecords, AreReadWithoutADigestOfTokens) {
  Json document = older_document();
  EXPECT_EQ(document["settings"]["training"].erase("tokens_digest"), 1U);
  const Record record = parse_record(document.dump(), "");
  EXPECT_EQ(record.settings.training->tokens_digest, "");
}

}  // namespace
}  // namespace linkgain::test
