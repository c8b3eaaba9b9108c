#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "linkgain/runtime/session.hpp"

/// For programs that mpirun starts: every rank runs the same tests in the same order.
namespace linkgain::testing {

class RankTest : public ::testing::Test {
 public:
  inline static Session* session = nullptr;
};

/// What such a program's main returns: 1 on every rank where a test failed on any. `prepare` is
/// collective, runs before the tests and says why these ranks cannot run them.
inline int run_rank_tests(int argc, char** argv,
                          const std::function<std::optional<std::string>(Session&)>& prepare = {}) {
  ::testing::InitGoogleTest(&argc, argv);
  Session session(argc, argv);
  if (const auto reason = prepare ? prepare(session) : std::nullopt) {
    std::printf("tests skipped: %s\n", reason->c_str());
    return 0;
  }
  RankTest::session = &session;
  const int failed = RUN_ALL_TESTS();
  return session.max(failed) > 0.0 ? 1 : 0;
}

}  // namespace linkgain::testing
