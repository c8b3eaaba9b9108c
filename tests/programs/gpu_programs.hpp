#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "programs.hpp"

/// The two programs on two real GPUs.
namespace linkgain::test {

/// Returns standard output and error together, in the output.
inline Outcome run_shell(const std::string& command) {
  return run_program({.arguments = {"/bin/sh", "-c", command + " 2>&1"}}, 600.0);
}

inline std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

inline void require_gpus(int count) {
  std::string reason;
  const auto nvml = Nvml::open(&reason);
  if (!nvml) GTEST_SKIP() << "no GPU: " << reason;
  if (nvml->device_count() < count) GTEST_SKIP() << "this test needs " << count << " GPUs";
}

class RunOnGpus : public ::testing::Test {
 protected:
  void SetUp() override { require_gpus(2); }

  const ScratchFolder folder_;
  const std::filesystem::path directory_ = folder_ / "out";

  Outcome run_linkgain(const std::string& options) {
    return run_shell(std::string(LINKGAIN) + " run --backend nccl --np 2 --quiet --out " +
                     directory_.string() + " " + options);
  }
  /// Adds the figures and intervals that every reader derives.
  Record record() const {
    Record read = linkgain::read_record(directory_ / "record.json");
    summarise(read);
    return read;
  }
};

}  // namespace linkgain::test
