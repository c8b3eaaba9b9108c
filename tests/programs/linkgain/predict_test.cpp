#include "bench/programs/linkgain/predict.cpp"

#include <gmock/gmock.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

PredictOptions predict_options(const std::vector<std::string>& arguments) {
  return options_of<PredictOptions>({"predict", "node7"}, arguments);
}

std::string predict_refusal(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"predict", "node7"});
  return refusal(arguments);
}

TEST(CommandLine, OfPredictADecoder) {
  const auto plain = predict_options({"--model", "qwen3-32b"});
  EXPECT_EQ(plain.record, "node7");
  EXPECT_TRUE(plain.is_decoder);
  EXPECT_FALSE(plain.is_training);
  EXPECT_EQ(plain.decoder.model.layers, 64);
  EXPECT_EQ(plain.decoder.model.hidden, 5120);
  EXPECT_EQ(plain.decoder.batch, 1);
  EXPECT_EQ(plain.question.reducer, Reducer::nccl);
  EXPECT_EQ(plain.format, OutputFormat::table);
  const auto full =
      predict_options({"--batch",  "8",    "--prompt",     "4096",    "--chunk",
                       "512",      "--on", "host",         "--by",    "kernel",
                       "--tp",     "4",    "--json",       "--model", "llama-3-8b",
                       "--layers", "16",   "--vocabulary", "0",       "--tokens-per-second",
                       "70.5"});
  EXPECT_EQ(full.decoder.batch, 8);
  EXPECT_EQ(full.decoder.prompt, 4096);
  EXPECT_EQ(full.decoder.chunk, 512);
  EXPECT_EQ(full.decoder.tokens_per_second, 70.5);
  EXPECT_EQ(full.decoder.model.layers, 16);
  EXPECT_EQ(full.decoder.model.hidden, 4096);
  EXPECT_EQ(full.decoder.model.vocabulary, 0);
  EXPECT_EQ(full.question.on, "host");
  EXPECT_EQ(full.question.reducer, Reducer::kernel);
  EXPECT_EQ(full.question.ranks, 4);
  EXPECT_EQ(full.format, OutputFormat::json);
}

TEST(CommandLine, OfPredictAShape) {
  const auto shape =
      predict_options({"--layers", "2", "--hidden", "256", "--heads", "4", "--ffn", "512"});
  EXPECT_EQ(shape.decoder.model.kv_heads, 4);
  EXPECT_EQ(shape.decoder.model.head_size, 64);
}

TEST(CommandLine, OfPredictATraining) {
  for (const auto& [text, count] :
       {std::pair{"7e9", 7e9}, {"7B", 7e9}, {"124439808", 124439808.0}, {"350M", 350e6}}) {
    const auto training = predict_options({"--params", text, "--step-time", "420ms"});
    EXPECT_TRUE(training.is_training);
    EXPECT_DOUBLE_EQ(training.training.parameters, count);
    EXPECT_DOUBLE_EQ(training.training.step.value, 0.42);
    EXPECT_EQ(training.training.strategy, Sharding::ddp);
    EXPECT_EQ(bytes_exchanged(training.training), 4.0) << "autocast's gradients are fp32";
  }
  const auto sharded =
      predict_options({"--params", "7B", "--step-time", "1s", "--strategy", "zero2"});
  EXPECT_EQ(bytes_exchanged(sharded.training), 2.0);
  const auto fsdp = predict_options(
      {"--params", "7B", "--step-time", "1s", "--strategy", "fsdp", "--dtype", "fp32"});
  EXPECT_EQ(fsdp.training.strategy, Sharding::fsdp);
  EXPECT_EQ(fsdp.training.element_bytes, 4.0);
}

TEST(CommandLine, OfPredictRefusesWhatCannotBeMeant) {
  EXPECT_THAT(predict_refusal({}), HasSubstr("predict what?"));
  EXPECT_THAT(predict_refusal({"--model", "lama-3-8b"}), HasSubstr("did you mean llama-3-8b?"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--batch", "0"}), HasSubstr("1 to 100000"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--tokens-per-second", "0"}),
              HasSubstr("0.001 to 1e+09"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--tokens-per-second", "fast"}),
              HasSubstr("no number of 0.001"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--params", "7B", "--step-time", "1s"}),
              HasSubstr("two questions"));
  EXPECT_THAT(predict_refusal({"--params", "7B"}), HasSubstr("--step-time is missing"));
  EXPECT_THAT(predict_refusal({"--step-time", "1s"}), HasSubstr("--params is missing"));
  EXPECT_THAT(predict_refusal({"--params", "7", "--step-time", "1s"}),
              HasSubstr("100000 to 1e+14"));
  EXPECT_THAT(predict_refusal({"--params", "7B", "--step-time", "1us"}), HasSubstr("no duration"));
  EXPECT_THAT(predict_refusal({"--params", "7B", "--step-time", "1s", "--strategy", "dp"}),
              HasSubstr("ddp"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--tp", "1"}), HasSubstr("2 to 1024"));
  EXPECT_THAT(predict_refusal({"--layers", "4"}), HasSubstr("--hidden is missing"));
  EXPECT_THAT(predict_refusal({"--params", "7B", "--step-time", "1s", "--batch", "8"}),
              HasSubstr("--batch is of a decoder"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--strategy", "fsdp"}),
              HasSubstr("--strategy is of a training"));
  EXPECT_THAT(predict_refusal({"--model", "qwen3-8b", "--kv-heads", "99"}),
              HasSubstr("than the 32 heads"));
  EXPECT_THAT(predict_refusal({"--layers", "4", "--hidden", "4096", "--heads", "33"}),
              HasSubstr("no multiple of --heads 33"));
}

}  // namespace
}  // namespace linkgain::test
