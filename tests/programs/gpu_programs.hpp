#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/telemetry/nvml.hpp"

/// The two programs on two real GPUs.
namespace linkgain::test {

struct Outcome {
  int status = -1;
  std::string output;  ///< standard output and error together
};

inline Outcome run_shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
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

/// A fresh directory below the system's temporary one, removed at the end.
class RunOnGpus : public ::testing::Test {
 protected:
  void SetUp() override { require_gpus(2); }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("linkgain-gpu-test-" + std::to_string(::getpid()));
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Outcome run_linkgain(const std::string& options) {
    return run_shell(std::string(LINKGAIN) + " run --backend nccl --np 2 --quiet --out " +
                     directory_.string() + " " + options);
  }
  Record record() const { return read_record(directory_ / "record.json"); }
};

}  // namespace linkgain::test
