#pragma once

#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

#include "programs.hpp"

namespace linkgain::test {

/// Returns the arguments for --timeout of so many seconds of an idle machine.
inline Words timeout_of(double seconds, double slower = slowdown()) {
  return {"--timeout", std::to_string(std::lround(seconds * slower))};
}

/// Takes about a second in each of four cases, so that something happens after the first, also on a
/// busy machine. A budget, more than enough, has the largest come first.
inline Words long_run(const Words& more, int launches = 1) {
  return joined({"--only", "all_reduce", "--sizes", "3M,4M,5M,6M", "--budget", "10m", "--launches",
                 std::to_string(launches)},
                more);
}

/// Counts the record's samples of a variant.
inline std::size_t samples_of(const Json& record, int variant) {
  std::size_t count = 0;
  for (const Json& number : record.at("samples").at("variant")) count += number == variant ? 1 : 0;
  return count;
}

/// Returns where the ranks' shared memory is, of each job: what they are told, and what linkgain
/// has a lock of.
inline Words folders_of_segments(const Program& program) {
  std::set<std::string> folders;
  constexpr std::string_view kName = "OMPI_MCA_btl_vader_backing_directory=";
  for (const pid_t id : program.processes_named("linkgain-bench")) {
    const std::string environment = read_text("/proc/" + std::to_string(id) + "/environ");
    const std::size_t begin = environment.find(kName);
    if (begin == std::string::npos) continue;
    folders.insert(environment.c_str() + begin + kName.size());  // to the next zero
  }
  for (const pid_t id : program.processes_named("linkgain")) {
    std::error_code gone;
    const std::filesystem::path descriptors = "/proc/" + std::to_string(id) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(descriptors, gone)) {
      const std::string file = std::filesystem::read_symlink(each, gone).string();
      if (file.starts_with("/dev/shm/")) folders.insert(file);
    }
  }
  return {folders.begin(), folders.end()};
}

/// Returns the processes of linkgain-bench that are ranks, or those that start them.
inline std::vector<pid_t> benches(const Program& program, bool ranks) {
  std::vector<pid_t> found = program.processes_named("linkgain-bench");
  std::erase_if(found, [=](pid_t id) {
    const std::string environment = read_text("/proc/" + std::to_string(id) + "/environ");
    const bool is_rank = environment.find("LINKGAIN_RANK=") != std::string::npos ||
                         environment.find("PMIX_RANK=") != std::string::npos;
    return is_rank != ranks;
  });
  return found;
}

/// What starts a run's ranks: mpirun, on the mpi backend, or linkgain-bench itself, on the GPUs of
/// the NVML double.
enum class By { mpirun, local };

/// A run that something happens to.
class HarmedRun : public MpiTest {
 protected:
  explicit HarmedRun(By by = By::mpirun) : by_(by) {}

  ProgramRequest request(const Words& arguments) const {
    if (by_ == By::mpirun) return run_request(folder_, arguments);
    const auto has = [&](const char* word) {
      return std::ranges::find(arguments, word) != arguments.end();
    };
    Words all{"run", "--launcher", "local", "--out", "out"};
    if (!has("--launches")) all = joined(all, {"--launches", "1"});
    if (!has("--variant"))
      all = joined(all, {"--variant", variant("first"), "--variant", variant("second")});
    ProgramRequest request = linkgain(folder_, joined(all, arguments));
    request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE;
    request.environment["LINKGAIN_NVML_SCENARIO"] = "no-nvlink";
    return request;
  }

  /// Returns what --variant takes for one of that name, with more variables.
  std::string variant(const std::string& name, const std::string& more = {}) const {
    const std::string own = by_ == By::local ? std::string("worker=") + BENCH_DOUBLE
                                             : "OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp";
    return name + ":" + own + (more.empty() ? "" : "," + more);
  }

  std::string with_fault(const std::string& fault) const {
    return variant("faulty", "LINKGAIN_TEST_FAULT=" + fault);
  }

  std::vector<pid_t> ranks_of(const Program& program) const { return benches(program, true); }
  std::vector<pid_t> launchers_of(const Program& program) const {
    return by_ == By::mpirun ? program.processes_named("mpirun") : benches(program, false);
  }

  By by_;
  /// Runs until a case was measured, then does `harm`, and returns how it ended, after at most
  /// `seconds` of an idle machine.
  template <typename Harm>
  Outcome run_and_harm(const Words& arguments, Harm harm, double seconds) {
    Program program(request(arguments));
    if (!comes_to_say(program, "[  1/")) {
      throw std::runtime_error("no case was measured:\n" + program.error());
    }
    const Words segments = folders_of_segments(program);
    harm(program);
    const double start = now();
    Outcome outcome = program.finish(seconds);
    outcome.seconds = now() - start;
    EXPECT_THAT(program.processes(), testing::IsEmpty()) << "left behind";
    EXPECT_EQ(segments.empty(), by_ == By::local);
    for (const std::string& each : segments) EXPECT_FALSE(std::filesystem::exists(each)) << each;
    return outcome;
  }

  ScratchFolder folder_;
};

}  // namespace linkgain::test
