#pragma once

#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

#include "programs.hpp"

namespace linkgain::test {

/// The arguments for --timeout of so many seconds of an idle machine.
inline Words timeout_of(double seconds, double slower = slowdown()) {
  return {"--timeout", std::to_string(std::lround(seconds * slower))};
}

/// Four cases of about a second: something happens after the first, also on a busy machine, where
/// each takes longer. A budget, more than enough, has the largest come first.
inline Words long_run(const Words& more, int launches = 1) {
  return joined({"--only", "all_reduce", "--sizes", "3M,4M,5M,6M", "--budget", "10m", "--launches",
                 std::to_string(launches)},
                more);
}

/// Samples in the record by the variant's number.
inline std::size_t samples_of(const Json& record, int variant) {
  std::size_t count = 0;
  for (const Json& number : record.at("samples").at("variant")) count += number == variant ? 1 : 0;
  return count;
}

/// Where the ranks' shared memory is, of each job.
inline Words folders_of_segments(const Program& program) {
  std::set<std::string> folders;
  constexpr std::string_view kName = "OMPI_MCA_btl_vader_backing_directory=";
  for (const pid_t id : program.processes_named("linkgain-bench")) {
    const std::string environment = read_text("/proc/" + std::to_string(id) + "/environ");
    const std::size_t begin = environment.find(kName);
    if (begin == std::string::npos) continue;
    folders.insert(environment.c_str() + begin + kName.size());  // to the next zero
  }
  return {folders.begin(), folders.end()};
}

/// A run on the mpi backend that something happens to.
class HarmedRun : public MpiTest {
 protected:
  /// Runs until a case was measured, then does `harm`, and returns how it ended, after at most
  /// `seconds` of an idle machine.
  template <typename Harm>
  Outcome run_and_harm(const Words& arguments, Harm harm, double seconds) {
    Program program(run_request(folder_, arguments));
    if (!comes_to_say(program, "[  1/")) {
      throw std::runtime_error("no case was measured:\n" + program.error());
    }
    const Words segments = folders_of_segments(program);
    harm(program);
    const double start = now();
    Outcome outcome = program.finish(seconds);
    outcome.seconds = now() - start;
    EXPECT_THAT(program.processes(), testing::IsEmpty()) << "left behind";
    EXPECT_THAT(segments, testing::Not(testing::IsEmpty()));
    for (const std::string& each : segments) EXPECT_FALSE(std::filesystem::exists(each)) << each;
    return outcome;
  }

  ScratchFolder folder_;
};

}  // namespace linkgain::test
