#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/program_path.hpp"
#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "support/situations.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

TEST(EngineAdvice, IsOfTheEngineThatBypassesNccl) {
  Situations said;
  for (const char* engine :
       {"vLLM: all-reduce by CUSTOM, PYNCCL", "SGLang: all-reduce by kernels of its own",
        "llama.cpp: all-reduce through host memory", "llama.cpp: built without NCCL",
        "llama.cpp: all-reduce through host memory, because NCCL did not start: no GPU",
        "llama.cpp: all-reduce by copies"}) {
    ArmEvidence staged{.variant = "staged", .forbidding = "NCCL_P2P_DISABLE=1"};
    staged.runs = {evidence_of(0)};
    staged.runs.front().engine_says = {engine};
    staged.path = path_of_program(staged.runs, {});
    const std::vector<Warning> warnings = judge_exec({staged}, {});
    const auto own = std::ranges::find(warnings, "exec-no-change", &Warning::code);
    ASSERT_NE(own, warnings.end()) << engine;
    const bool is_of_llama = std::string_view(engine).starts_with("llama.cpp");
    const bool names_option = own->advice.find("--disable-custom-all-reduce") != std::string::npos;
    EXPECT_EQ(names_option, !is_of_llama);
    EXPECT_EQ(own->advice.find("llama.cpp") != std::string::npos, is_of_llama);
    said.add(engine, own->advice);
  }
  said.expect_golden("engine_advice.txt");
}

}  // namespace
}  // namespace linkgain::test
