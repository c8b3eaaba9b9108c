#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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

/// linkgain-bench under a plain mpirun, which does not wait a second for the other ranks where one
/// ends with a status.
inline ProgramRequest bench(int ranks, const std::vector<std::string>& arguments) {
  ProgramRequest request;
  request.arguments = {"mpirun",    "-np",  std::to_string(ranks),
                       "--bind-to", "none", "--oversubscribe"};
  if (geteuid() == 0) request.arguments.push_back("--allow-run-as-root");
  request.environment["OMPI_MCA_odls_base_sigkill_timeout"] = "0";
  request.arguments.push_back(LINKGAIN_BENCH);
  request.arguments.insert(request.arguments.end(), {"--backend", "mpi"});
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  return request;
}

/// The same without waiting for exact times.
inline ProgramRequest quick_bench(int ranks, std::vector<std::string> arguments) {
  arguments.push_back("--benchmark_min_time=0.001");
  return bench(ranks, arguments);
}

/// `linkgain` in a folder.
inline ProgramRequest linkgain(const ScratchFolder& folder, std::vector<std::string> arguments) {
  ProgramRequest request;
  arguments.insert(arguments.begin(), LINKGAIN);
  request.arguments = std::move(arguments);
  request.directory = folder.path();
  return request;
}

/// `linkgain run` on the mpi backend with --out out, of one launch where arguments name no number.
inline ProgramRequest run_request(const ScratchFolder& folder,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"run", "--backend", "mpi", "--out", "out"};
  if (std::find(arguments.begin(), arguments.end(), "--launches") == arguments.end()) {
    all.insert(all.end(), {"--launches", "1"});
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return linkgain(folder, all);
}

inline Json read_record(const ScratchFolder& folder) {
  return Json::parse(read_text(folder.path() / "out" / "record.json"));
}

/// Characters of the longest line, but for those that are to be copied.
inline std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("  - scontrol ")) continue;
    const auto characters =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    widest = std::max(widest, static_cast<std::size_t>(characters));
  }
  return widest;
}

/// What a table on a terminal keeps to.
inline constexpr std::size_t kTerminalColumns = 120;

/// The lines that linkgain-bench itself wrote among those of mpirun.
inline std::vector<std::string> own_lines(const std::string& error) {
  std::vector<std::string> own;
  for (const std::string& line : lines_of(error)) {
    if (line.starts_with("linkgain-bench: ")) own.push_back(line);
  }
  return own;
}

}  // namespace linkgain::test
