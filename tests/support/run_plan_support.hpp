#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/plan/run_plan.hpp"

namespace linkgain::test {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

inline Site with_gpus(int gpus) {
  Site site;
  site.host = "node1";
  site.processors = 32;
  site.gpus = gpus;
  site.gpu_name = "NVIDIA H200";
  site.gpu_memory_bytes = 140 * kGiB;
  site.host_memory_bytes = 64 * kGiB;
  site.has_nccl = true;
  if (gpus < 2) site.no_gpus_reason = "there is one GPU";
  return site;
}

inline Site without_nccl() {
  Site site = with_gpus(0);
  site.has_nccl = false;
  site.nccl_missing = "nccl.h was not found";
  site.no_gpus_reason = "no NVIDIA driver";
  return site;
}

struct Refusal {
  std::string text = "accepted";
  std::string advice;
  ExitCode exit_code = ExitCode::success;
};

inline Refusal refusal(const RunOptions& options, const Site& site = with_gpus(4)) {
  try {
    make_plan(options, site);
  } catch (const Error& error) {
    return {error.what(), error.advice(), error.exit_code()};
  }
  return {};
}

inline std::string usage_error(const RunOptions& options, const Site& site = with_gpus(4)) {
  const Refusal found = refusal(options, site);
  EXPECT_EQ(found.exit_code, ExitCode::usage) << found.text;
  EXPECT_EQ(found.text.find('\n'), std::string::npos) << "one line";
  return found.text;
}

inline RunOptions of_sizes(std::string_view sizes) {
  RunOptions options;
  options.sizes = parse_sizes(sizes);
  return options;
}

}  // namespace linkgain::test
