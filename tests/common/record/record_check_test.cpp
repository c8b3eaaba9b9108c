#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record_documents.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

/// Records need not have the share, so that bytes are compared with the case's, too.
TEST(RecordSchema, RefusesBytesThatTheCaseDoesNotMove) {
  for (const char* place : {"/expected_bytes", "/operations"}) {
    Json document = full_document();
    Json& evidence = document["cases"][0]["variants"][0]["evidence"];
    evidence.erase("nvlink_share");
    EXPECT_EQ(refusal(document), "accepted");
    Json& number = evidence.at(Json::json_pointer(place));
    number = 2 * number.get<std::int64_t>();
    EXPECT_THAT(refusal(document), HasSubstr("expected bytes of p2p")) << place;
    evidence["algorithm"] = "";  // as the sum of a ring's and a tree's
    EXPECT_EQ(refusal(document), "accepted") << place;
  }
}

TEST(RecordSchema, TakesSamplesOfEarlierPartsThatTheRunsTimeLacks) {
  Json document = with("/wall_s", 0.001);
  document.erase("launch_begins_s");
  EXPECT_THAT(refusal(document), HasSubstr("a sample of 0.0"));
  document["warnings"].push_back({{"code", "resumed"}, {"text", "it went on"}, {"advice", ""}});
  EXPECT_EQ(refusal(document), "accepted");
}

}  // namespace
}  // namespace linkgain::test
