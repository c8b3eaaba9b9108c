#include "programs.hpp"

/// A run is found again by its label.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class RunLabel : public MpiTest {
 protected:
  Outcome call(const Words& arguments) { return run_linkgain(folder_, arguments); }

  /// A run into its usual folder below results/.
  void measure(const std::string& label) {
    const Outcome outcome = call({"run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "8",
                                  "--launches", "1", "--quiet", "--label", label});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
  }

  ScratchFolder folder_;
};

TEST_F(RunLabel, IsListedComparedAndReported) {
  ASSERT_NO_FATAL_FAILURE(measure("before"));
  ASSERT_NO_FATAL_FAILURE(measure("after"));
  const Outcome listed = call({"list", "--json"});
  ASSERT_EQ(listed.status, 0) << listed.error;
  const Json runs = Json::parse(listed.output).at("runs");
  ASSERT_THAT(runs, SizeIs(2));
  Words labels;
  for (const Json& run : runs) {
    labels.push_back(run.at("label"));
    EXPECT_EQ(run.at("status"), "complete");
    EXPECT_EQ(run.at("cases"), 1);
    EXPECT_THAT(run.at("path").get<std::string>(), StartsWith("results/"));
  }
  EXPECT_THAT(labels, testing::UnorderedElementsAre("before", "after"));
  EXPECT_THAT(call({"list"}).output, AllOf(HasSubstr("before"), HasSubstr("after")));
  const Outcome compared = call({"compare", "before", "after", "--json"});
  ASSERT_EQ(compared.status, 0) << compared.error;
  EXPECT_THAT(Json::parse(compared.output).at("comparisons").at(0).at("cases"), SizeIs(2));
  const Outcome report = with_status(0, call({"report", "before", "--format", "md"}));
  EXPECT_THAT(report.output, HasSubstr("- Label: before\n"));
  EXPECT_EQ(call({"baseline", "before", "-o", "baseline.json"}).status, 0);
}

TEST_F(RunLabel, ThatIsUnknownOrNoneIsRefused) {
  EXPECT_EQ(call({"run", "--backend", "mpi", "--label", "a b"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results"));
  EXPECT_EQ(call({"list"}).status, 2) << "no folder";
  for (const std::string command : {"report", "check"}) {
    const Outcome outcome = call({command, "before"});
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.output, IsEmpty()) << command;
  }
}

}  // namespace
}  // namespace linkgain::test
