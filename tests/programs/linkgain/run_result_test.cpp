#include "bench/programs/linkgain/run_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// As a script may leave it.
TEST(TestVariables, AreNoneWhereTheyAreEmpty) {
  const std::string name = "LINKGAIN_TEST_FAULT";
  Variant variant;
  EXPECT_THAT(warnings_of_test_variables({{name, ""}}, {variant}), IsEmpty());
  EXPECT_THAT(warnings_of_test_variables({{name, "die@1"}}, {variant}), SizeIs(1));
  variant.environment = {{name, ""}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), IsEmpty());
  variant.environment = {{name, "die@1"}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), SizeIs(1));
}

}  // namespace
}  // namespace linkgain::test
