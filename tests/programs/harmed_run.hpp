#pragma once

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "programs.hpp"

namespace linkgain::test {

/// Long enough for something to happen while it is measured.
inline const std::vector<std::string> kLong{"--only",     "all_reduce", "--sizes",  "64K:6M:+64K",
                                            "--launches", "1",          "--budget", "15"};

inline std::vector<std::string> long_run(const std::vector<std::string>& more) {
  std::vector<std::string> all = kLong;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Samples in the record by the variant's number.
inline std::size_t samples_of(const Json& record, int variant) {
  std::size_t count = 0;
  for (const Json& number : record.at("samples").at("variant")) count += number == variant ? 1 : 0;
  return count;
}

/// A run on the mpi backend that something happens to.
class HarmedRun : public MpiTest {
 protected:
  /// Runs until `moment`, then does `harm`, and returns how it ended.
  template <typename Harm>
  Outcome run_and_harm(const std::vector<std::string>& arguments, Harm harm, double seconds) {
    Program program(run_request(folder_, arguments));
    if (!comes_true([&] { return program.error().find("[  1/") != std::string::npos; }, 60.0)) {
      throw std::runtime_error("no case was measured:\n" + program.error());
    }
    harm(program);
    const double start = now();
    Outcome outcome = program.finish(seconds);
    outcome.seconds = now() - start;
    EXPECT_THAT(program.processes(), testing::IsEmpty()) << "left behind";
    return outcome;
  }

  ScratchFolder folder_;
};

}  // namespace linkgain::test
