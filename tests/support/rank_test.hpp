#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/runtime/session.hpp"

/// For programs that mpirun starts, or that start their ranks themselves: every rank runs the same
/// tests in the same order.
namespace linkgain::test {

class RankTest : public ::testing::Test {
 public:
  inline static Session* session = nullptr;
};

/// Ends the job where a test on this rank goes no further, by an exception or a fatal failure: the
/// others would wait for it in their next collective call.
class FailureEndsTheJob : public ::testing::EmptyTestEventListener {
 public:
  explicit FailureEndsTheJob(Session& session) : session_(session) {}

 private:
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override { place_ = suite.name(); }
  void OnTestStart(const ::testing::TestInfo& test) override {
    place_ = std::string(test.test_suite_name()) + '.' + test.name();
  }

  /// Ends the job after GoogleTest's own listener has printed what failed. UnitTest cannot be asked
  /// anything here: it has its lock.
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.fatally_failed()) return;
    std::printf("rank %d ends the job: it failed in %s\n", session_.rank(), place_.c_str());
    std::fflush(stdout);
    session_.abort(1);
  }

  Session& session_;
  std::string place_ = "what comes before the tests";
};

/// Returns what such a program's main does: 1 on every rank if a test failed on any. With `--local
/// N` it is started as so many ranks by linkgain's own launcher. `prepare` is collective, runs
/// before the tests and says why these ranks cannot run them.
inline int run_rank_tests(int argc, char** argv,
                          const std::function<std::optional<std::string>(Session&)>& prepare = {}) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string_view(argv[1]) == "--local") {
    return start_local_ranks(std::atoi(argv[2]), {"/proc/self/exe"});
  }
  Session session(argc, argv);
  if (const auto reason = prepare ? prepare(session) : std::nullopt) {
    std::printf("tests skipped: %s\n", reason->c_str());
    return 0;
  }
  RankTest::session = &session;
  // GoogleTest deletes it.
  ::testing::UnitTest::GetInstance()->listeners().Append(new FailureEndsTheJob(session));
  const int failed = RUN_ALL_TESTS();
  return session.max(failed) > 0.0 ? 1 : 0;
}

}  // namespace linkgain::test
