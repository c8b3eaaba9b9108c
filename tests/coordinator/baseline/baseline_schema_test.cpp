#include <gtest/gtest.h>

#include "baseline_members.hpp"
#include "support/golden.hpp"
#include "support/schema_of_members.hpp"

namespace linkgain::test {
namespace {

TEST(BaselineSchema, IsThatOfTheMembers) {
  json::Out definitions = json::Out::object();
  json::Out schema{
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"$id", kBaselineSchema},
      {"title", "What later runs of like machines are compared with by `linkgain check`"},
      {"description",
       "Times are seconds per operation, bandwidths 1e9 bytes per second. Tolerances are fractions "
       "of the time: with lower -0.05 and upper 0.05 a time may lie from 5 % below to 5 % above "
       "its reference; null is unbounded. Not known is null. Made to be edited: the check reads "
       "time_s, lower, upper, launches, spread, degrees_of_freedom and between_runs of a case, and "
       "the overrides; members it does not know are refused, so that a slip of the pen is found."}};
  schema.update(schema_of<Baseline>({}, definitions));
  schema["definitions"] = definitions;
  expect_golden(laid_out_schema(schema) + "\n",
                "../../../../bench/coordinator/baseline/baseline.schema.json");
}

}  // namespace
}  // namespace linkgain::test
