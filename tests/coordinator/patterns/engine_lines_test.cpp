#include "linkgain/patterns/engine_lines.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "support/golden.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

TEST(EngineLines, AreReadAsEnginesWriteThem) {
  const ScratchFolder folder;
  const std::filesystem::path recorded = std::filesystem::path(GOLDEN_FOLDER) / "engine_log.txt";
  std::string text;
  for (const std::string& choice :
       engine_choices_in({folder.path() / "none", recorded, recorded})) {
    text += choice + "\n";
  }
  expect_golden(text, "engine_choices.txt");
}

TEST(EngineLines, SayAllOfALineWithoutAnEnd) {
  EXPECT_THAT(engine_choice_in("unknown GGML_CUDA_ALLREDUCE value: ring\r"),
              testing::EndsWith(" is ring"));
}

TEST(EngineLines, OthersSayNothing) {
  for (const char* line :
       {"", "all-reduce backends", "Using the cache", "nccl==2.28.9",
        "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "Registering 4 plugins",
        "Registering 0 cuda graph addresses",
        "answer 3: In vLLM the log then says: Registering 35 cuda graph addresses",
        "> Registering 35 cuda graph addresses", "\"Using ['CUSTOM'] all-reduce backends\"",
        "(see W NCCL init failed (x); falling back to internal AllReduce",
        "To silence, specify disable_custom_all_reduce=True explicitly.",
        "disable_custom_all_reduce=True, enable_mscclpp=True",
        "disable_custom_all_reduce=True, "
        "enforce_disable_flashinfer_allreduce_fusion=False"}) {
    EXPECT_EQ(engine_choice_in(line), "") << line;
  }
}

TEST(EngineLines, AreFoundBehindWhatLoggersLaunchersAndContainersPutBefore) {
  for (const char* before :
       {"", "[default0]:", "[1,0]<stderr>:", "0: ", "server-1  | ", "0.00.123.456 W ",
        "INFO:     ", "2026-03-19T08:09:02.123Z ",
        "(EngineCore_0 pid=7) (Worker_TP0 pid=77) INFO 02-27 20:33:14 ",
        "[default1]:[2026-04-14 16:08:44 TP1] ", "\x1b[0;36mvllm-1 |\x1b[0m INFO [a.py:2] ",
        "Capturing: 98%|##8| 50/51 [00:36<00:00, 1.45it/s][2025-07-22 06:18:33 TP5] ",
        "Capturing: 20%|#| 1/5\rCapturing: 40%|##| 2/5 [00:03<00:01, 1.20s/it]INFO "}) {
    EXPECT_NE(engine_choice_in(before + std::string("vLLM is using nccl==2.28.9")), "") << before;
  }
}

TEST(EngineLines, AreReadAtBothEndsOfALongLog) {
  const ScratchFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  const std::string noise(100, 'x');
  const auto said_after = [&](int lines) {
    std::ofstream file(log);
    file << "vLLM is using nccl==2.25.1\n";
    for (int i = 0; i < lines; ++i) file << noise << '\n';
    file << "Registering 35 cuda graph addresses\n";
    file.close();
    return engine_choices_in({log}).size();
  };
  for (const int lines : {0, 41'000, 43'000, 90'000, 200'000}) {
    EXPECT_EQ(said_after(lines), 2U) << lines;
  }
}

}  // namespace
}  // namespace linkgain::test
