#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <source_location>
#include <string>
#include <vector>

#include "linkgain/base/json.hpp"
#include "support/program.hpp"

namespace linkgain::test {

using Json = nlohmann::json;

/// Skips where there is no mpirun.
class MpiTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_path("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  }
};

/// Requests linkgain-bench under a plain mpirun, which does not wait a second for the other ranks
/// where one ends with a status.
inline ProgramRequest bench(int ranks, const std::vector<std::string>& arguments) {
  ProgramRequest request;
  request.arguments = {"mpirun",    "-np",  std::to_string(ranks),
                       "--bind-to", "none", "--oversubscribe"};
  if (geteuid() == 0) request.arguments.push_back("--allow-run-as-root");
  request.environment["OMPI_MCA_odls_base_sigkill_timeout"] = "0";
  request.arguments.push_back(LINKGAIN_BENCH);
  request.arguments.insert(request.arguments.end(), {"--backend", "mpi"});
  request.arguments = joined(request.arguments, arguments);
  return request;
}

/// Waits for no exact times.
inline ProgramRequest quick_bench(int ranks, std::vector<std::string> arguments) {
  arguments.push_back("--benchmark_min_time=0.001");
  return bench(ranks, arguments);
}

inline ProgramRequest linkgain(const ScratchFolder& folder, Words arguments) {
  arguments.insert(arguments.begin(), LINKGAIN);
  return {.arguments = std::move(arguments), .directory = folder.path()};
}

inline Outcome run_linkgain(const ScratchFolder& folder, Words arguments) {
  return run_program(linkgain(folder, std::move(arguments)));
}

/// Lets the program see one of the NVML double's machines.
inline ProgramRequest on_machine(const std::string& scenario, ProgramRequest request) {
  request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE;
  request.environment["LINKGAIN_NVML_SCENARIO"] = scenario;
  return request;
}

/// Tells whether the program comes to say this on standard error, as "[  1/" after its first case.
inline bool comes_to_say(const Program& program, const std::string& text) {
  return comes_true([&] { return program.error().find(text) != std::string::npos; }, 60.0);
}

/// Requests `linkgain run --backend mpi --out out`, of one launch unless arguments name a number.
inline ProgramRequest run_request(const ScratchFolder& folder,
                                  const std::vector<std::string>& arguments) {
  Words all{"run", "--backend", "mpi", "--out", "out"};
  if (std::ranges::find(arguments, "--launches") == arguments.end()) {
    all.insert(all.end(), {"--launches", "1"});
  }
  return linkgain(folder, joined(all, arguments));
}

/// Passes on the end of a program, which must have come with this status.
inline Outcome with_status(int status, Outcome outcome,
                           const std::source_location& where = std::source_location::current()) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "its status");
  EXPECT_EQ(outcome.status, status) << outcome.error << outcome.output;
  return outcome;
}

inline Json read_record(const ScratchFolder& folder) {
  return Json::parse(read_text(folder / "out" / "record.json"));
}

/// Counts the characters of the longest line, except for those that are to be copied.
inline std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("  - scontrol ")) continue;
    const auto characters = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    widest = std::max(widest, static_cast<std::size_t>(characters));
  }
  return widest;
}

/// What a table on a terminal keeps to.
inline constexpr std::size_t kTerminalColumns = 120;

/// Returns the lines that linkgain-bench itself wrote among those of mpirun.
inline std::vector<std::string> own_lines(const std::string& error) {
  std::vector<std::string> own;
  for (const std::string& line : lines_of(error)) {
    if (line.starts_with("linkgain-bench: ")) own.push_back(line);
  }
  return own;
}

}  // namespace linkgain::test
