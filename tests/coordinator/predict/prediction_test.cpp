#include "linkgain/predict/prediction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/predict/prediction_report.hpp"
#include "planted_curves.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Asks for llama-3-8b, whose head and embedding are not split: 64 all-reduces of 8 KiB a step.
PredictionQuestion of_model(int batch = 1) {
  DecoderQuestion decoder{.model = find_model("llama-3-8b"), .batch = batch, .prompt = 4096};
  decoder.model.vocabulary = 0;
  PredictionQuestion question;
  question.decoder = decoder;
  return question;
}

PredictionQuestion of_training(double parameters, double seconds) {
  PredictionQuestion question;
  question.training =
      TrainingQuestion{.parameters = parameters, .step = Seconds{seconds}, .element_bytes = 2.0};
  return question;
}

const PhasePrediction& decode_of(const Prediction& prediction) { return prediction.phases.at(0); }
const PhasePrediction& prefill_of(const Prediction& prediction) { return prediction.phases.at(1); }

TEST(Decode, AddsTheDifferenceOfAllCallsToTheGivenStep) {
  PredictionQuestion question = of_model(8);
  question.decoder->tokens_per_second = 2000.0;
  const PhasePrediction decode = decode_of(predict(planted_record(), question));
  ASSERT_EQ(decode.calls.size(), 1U);
  EXPECT_EQ(decode.calls[0].count, 64.0);
  EXPECT_EQ(decode.calls[0].bytes, 8 * 4096 * 2);
  EXPECT_NEAR(decode.communication_link.value, 64 * on_link(65536), 1e-9);
  EXPECT_NEAR(decode.link->value, 0.004, 1e-12);
  const double longer = 64 * (on_host(65536) - on_link(65536));
  EXPECT_NEAR(decode.other->value, 0.004 + longer, 1e-9);
  EXPECT_NEAR(decode.ratio->value, 1.0 + longer / 0.004, 1e-6);
}

TEST(Decode, TakesItOffWhereTheSpeedIsThatWithoutTheLink) {
  PredictionQuestion question = of_model(8);
  question.decoder->tokens_per_second = 2000.0;
  question.on = "host";
  const PhasePrediction decode = decode_of(predict(planted_record(), question));
  EXPECT_NEAR(decode.other->value, 0.004, 1e-12);
  EXPECT_NEAR(decode.link->value, 0.004 - 64 * (on_host(65536) - on_link(65536)), 1e-9);
}

TEST(Decode, SplitsEmbeddingAndHeadAsEnginesDo) {
  PredictionQuestion question = of_model(4);
  question.decoder->model = find_model("llama-3-8b");
  const std::vector<Calls> calls = decode_calls(*question.decoder, 2);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].count, 65.0);
  // An all-gather of all logits sends half of what an all-reduce of them would.
  EXPECT_EQ(calls[1].bytes, 4 * 128256 * 2 / 2);
}

TEST(Decode, WithoutSpeedAndProductsIsOfCommunicationAlone) {
  const PhasePrediction decode = decode_of(predict(planted_record(), of_model()));
  EXPECT_NEAR(decode.communication_other.value, 64 * on_host(8192), 1e-9);
  EXPECT_FALSE(decode.link);
  EXPECT_FALSE(decode.ratio);
}

TEST(Decode, RefusesASpeedThatLeavesNoTime) {
  PredictionQuestion question = of_model();
  question.decoder->tokens_per_second = 1e5;
  EXPECT_THAT(thrown_by([&] { predict(planted_record(), question); }), HasSubstr("alone"));
  question.decoder->tokens_per_second = 100.0;
  question.on = "nowhere";
  EXPECT_THAT(thrown_by([&] { predict(planted_record(), question); }), HasSubstr("p2p and host"));
}

/// Plants what `--profile inference` measures: products that take 2 us beside the reads of their
/// weights at 4 TB/s, or their arithmetic at 500 TFLOP/s, and all-reduces in context.
Record inference_record() {
  Scatter scatter(0.005);
  std::vector<Measured> all;
  for (const int hidden : {2048, 4096, 8192}) {
    for (const int tokens : {1, 8, 64, 512, 4096}) {
      Case sum = parse_case_name(fmt::format("all_reduce/bfloat16/sum/{}/np2/graph/hidden={}",
                                             exact_bytes(Bytes{2LL * hidden * tokens}), hidden));
      const auto add = [&](const Case& like, const Model& link, const Model& host) {
        const auto both = measured_curves(like, {sum.size.value}, link, host, scatter);
        all.insert(all.end(), both.begin(), both.end());
      };
      add(sum, on_link, on_host);
      sum.hidden = 0;
      const auto faster = [](double bytes) { return on_link(bytes) / 3.0; };
      add(sum, faster, faster);
      const Case product = parse_case_name(fmt::format(
          "product_norm/bfloat16/{}/np2/graph/hidden={}", exact_bytes(sum.size), hidden));
      const double weights = 1.75 * hidden * hidden;
      const double time = 2e-6 + std::max(weights * 2.0 / 4e12, weights * 2.0 * tokens / 500e12);
      all.push_back({product, "p2p", scatter.launches(time), Path::unknown});
    }
  }
  return finished(run_of(all));
}

TEST(Decode, RestsOnProductsAndTheCacheWhereNoSpeedIsGiven) {
  PredictionQuestion question = of_model();
  question.decoder->context = 4096;
  const Prediction prediction = predict(inference_record(), question);
  EXPECT_TRUE(prediction.curves.in_context);
  const PhasePrediction decode = decode_of(prediction);
  EXPECT_NEAR(decode.communication_link.value, 64 * on_link(8192), 5e-6);
  // 32 layers of 218 million weights, half on each GPU; 2 us for each 29 million.
  const double weights = 32 * 218.1e6 / 2;
  const double cache = 4096 * 32 * 2 * 4 * 128 * 2.0;
  const double computing =
      weights * 2 / 4e12 + 2e-6 * weights / (1.75 * 4096 * 4096) + cache / 4e12;
  EXPECT_NEAR(decode.link->value, computing + 64 * on_link(8192), 0.03 * computing);
  EXPECT_FALSE(decode.is_given);
  EXPECT_TRUE(decode.ratio->interval);
  // Twice the weights in products that are twice as large.
  EXPECT_NEAR(decode.one_gpu->value, 2 * computing - 2e-6 * weights / (1.75 * 4096 * 4096),
              0.05 * computing);
}

TEST(Prefill, RestsOnProductsOfAsManyTokens) {
  const PhasePrediction prefill = prefill_of(predict(inference_record(), of_model()));
  const double weights = 32 * 218.1e6 / 2;
  const double scores = 4096.0 * 4096 * 32 * 128 * 32 / 2;  // half of two products, two flops each
  const double computing = (weights * 2 * 4096 + scores * 2) / 500e12;
  EXPECT_NEAR(prefill.link->value, computing + 64 * on_link(32 << 20), 0.05 * computing);
}

TEST(Split, IsRefusedBesideMeasuredProducts) {
  const PhasePrediction prefill = prefill_of(predict(inference_record(), of_model()));
  EXPECT_TRUE(prefill.is_split_slower(Side::other));
  EXPECT_FALSE(prefill.is_split_slower(Side::link));
}

TEST(Prefill, IsReadInChunks) {
  PredictionQuestion question = of_model();
  question.decoder->prompt_tokens_per_second = 40960.0;
  const PhasePrediction whole = prefill_of(predict(planted_record(), question));
  EXPECT_EQ(whole.calls[0].count, 64.0);
  EXPECT_EQ(whole.calls[0].bytes, 4096.0 * 4096 * 2);
  EXPECT_NEAR(whole.link->value, 0.1, 1e-12);
  question.decoder->chunk = 512;
  const PhasePrediction chunks = prefill_of(predict(planted_record(), question));
  EXPECT_EQ(chunks.calls[0].count, 64.0 * 8);
  EXPECT_EQ(chunks.calls[0].bytes, 512.0 * 4096 * 2);
  EXPECT_FALSE(chunks.is_beyond);
  question.decoder->prompt = 16384;
  question.decoder->chunk = 0;
  EXPECT_TRUE(prefill_of(predict(planted_record(), question)).is_beyond);
}

TEST(Split, IsRefusedWhereOneGpuIsFaster) {
  PredictionQuestion question = of_model();
  // Without the link 86 ms of communication: one GPU takes twice what two compute at most.
  question.decoder->prompt_tokens_per_second = 4096 / 0.050;
  const PhasePrediction prefill = prefill_of(predict(planted_record(), question));
  const double computing = 0.050 - 64 * on_link(32 << 20);
  EXPECT_NEAR(prefill.one_gpu->value, 2.0 * computing, 1e-6);
  EXPECT_TRUE(prefill.is_split_slower(Side::other));
  EXPECT_FALSE(prefill.is_split_slower(Side::link));
}

TEST(Training, LiesBetweenAllHiddenAndAllExposed) {
  const double bytes = 1e9 * 2.0;
  const Prediction prediction = predict(planted_record(), of_training(1e9, 0.2));
  const PhasePrediction& training = prediction.phases.at(0);
  EXPECT_EQ(training.calls[0].bytes, 25.0 * 1024 * 1024);
  EXPECT_NEAR(training.calls[0].count * training.calls[0].bytes, bytes, 1.0);
  const double longer = training.communication_other.value - training.communication_link.value;
  EXPECT_NEAR(training.communication_other.value, bytes / 25e9, 0.001);
  EXPECT_FALSE(training.ratio);
  EXPECT_FALSE(training.other);
  EXPECT_DOUBLE_EQ(training.hidden_to_exposed->low, 1.0);
  EXPECT_NEAR(training.hidden_to_exposed->high, 1.0 + longer / 0.2, 1e-9);
}

TEST(Training, TakesOperationsBackToBack) {
  const Prediction prediction = predict(inference_record(), of_training(1e9, 0.2));
  EXPECT_FALSE(prediction.curves.in_context);
}

TEST(Training, IsNeverShorterThanItsCommunication) {
  const Prediction prediction = predict(planted_record(), of_training(1e9, 0.04));
  const PhasePrediction& training = prediction.phases.at(0);
  EXPECT_NEAR(training.hidden_to_exposed->low, training.communication_other.value / 0.04, 1e-9);
  EXPECT_THROW(predict(planted_record(), of_training(1e9, 0.001)), UsageError);
}

TEST(Training, SendsHalfAsMuchAgainWhereParametersAreSharded) {
  const double largest = 64.0 * 1024 * 1024;
  const auto sent = [&](TrainingStrategy strategy) {
    const std::vector<Calls> calls = training_calls(1e10, strategy, largest);
    return calls[0].count * calls[0].bytes;
  };
  EXPECT_DOUBLE_EQ(sent(TrainingStrategy::ddp), 1e10);
  EXPECT_DOUBLE_EQ(sent(TrainingStrategy::zero2), 1e10);
  EXPECT_DOUBLE_EQ(sent(TrainingStrategy::zero3), 1.5e10);
}

/// Plants the curves, and GPT-2's step of which half of the difference is exposed.
Record with_training() {
  Record record = planted_record(on_link, on_host, 0.002);
  const Case step = parse_case_name("gpt2_step/bf16/gpt2/np2");
  const auto bytes = static_cast<double>(gradient_bytes(*step.training).value);
  const std::vector<Calls> calls = training_calls(bytes, TrainingStrategy::ddp, 1 << 26);
  const double longer = calls[0].count * (on_host(calls[0].bytes) - on_link(calls[0].bytes));
  Scatter scatter(0.002);
  const Record trainings =
      run_of({{step, "p2p", scatter.launches(0.016), Path::nvlink},
              {step, "host", scatter.launches(0.016 + 0.5 * longer), Path::host_memory}});
  record.cases.push_back(trainings.cases.front());
  return finished(record);
}

TEST(Training, IsNarrowedByMeasuredOnes) {
  const PhasePrediction training = predict(with_training(), of_training(1e9, 0.2)).phases.at(0);
  const double longer = training.calls[0].count *
                        (on_host(training.calls[0].bytes) - on_link(training.calls[0].bytes));
  const double truth = 1.0 + 0.5 * longer / 0.2;
  ASSERT_TRUE(training.ratio);
  EXPECT_NEAR(training.ratio->value, truth, 0.005);
  EXPECT_TRUE(training.ratio->may_be(truth));
  EXPECT_NEAR(training.other->value, 0.2 * training.ratio->value, 1e-9);
}

/// Plants steps behind whose computing 0.4 of its time hides, but at most half of communication.
Seconds planted_step(double computing, double communication) {
  return Seconds{computing + communication - std::min(0.4 * computing, 0.5 * communication)};
}

TEST(Training, HidesWhatComputingOffersButNotAllCommunication) {
  Record record = planted_record();
  const Case step = parse_case_name("gpt2_step/bf16/gpt2/np2");
  const auto bytes = static_cast<double>(gradient_bytes(*step.training).value);
  const auto communication = [&](const Model& path) {
    const Calls calls = training_calls(bytes, TrainingStrategy::ddp, 1 << 26)[0];
    return calls.count * path(calls.bytes);
  };
  Scatter scatter(0.0);
  for (const auto& [precision, computing] : {std::pair{"bf16", 0.010}, {"fp32", 0.080}}) {
    const std::string name = fmt::format("gpt2_step/{}/gpt2/np2", precision);
    const auto launches = [&](const Model& path) {
      return scatter.launches(planted_step(computing, communication(path)).value);
    };
    const Record more = run_of(
        {{parse_case_name(name), "p2p", launches(on_link), Path::nvlink},
         {parse_case_name(name), "host", launches(on_host), Path::host_memory},
         {parse_case_name(name + "/none"), "p2p", scatter.launches(computing), Path::unknown}});
    record.cases.insert(record.cases.end(), more.cases.begin(), more.cases.end());
  }
  record = finished(record);
  for (const double computing : {0.010, 0.018, 0.080}) {
    const Seconds link = planted_step(computing, communication(on_link));
    const Seconds host = planted_step(computing, communication(on_host));
    PredictionQuestion question = of_training(bytes / 2.0, link.value);
    EXPECT_NEAR(predict(record, question).phases[0].other->value / host.value, 1.0, 0.01);
    question.training->step = host;
    question.on = "host";
    EXPECT_NEAR(predict(record, question).phases[0].link->value / link.value, 1.0, 0.01);
  }
}

TEST(Training, GainsItsExposedCommunicationAtMostWhereNoLinkIsThere) {
  // The measured step waits 5 ms for what takes 19.9; 8.8 of them would remain with a link.
  const PhasePrediction training = predict(without_bridge(), of_training(1e9, 0.2)).phases.at(0);
  const double saved = training.communication_other.value - training.communication_link.value;
  ASSERT_TRUE(training.ratio);
  const double exposed = 0.005 / (124439808 * 4 / 25e9 - 124439808 * 4 / 56.25e9);
  EXPECT_NEAR(training.link->value, 0.2 - exposed * saved, 0.002);
}

TEST(Prediction, HasAnIntervalThatHoldsTheTruth) {
  // Sizes of 8B's step are measured; those of 14B's lie between two, and what a straight line adds
  // is in the interval as well.
  constexpr int kRecords = 300;
  int held = 0;
  for (const char* name : {"llama-3-8b", "qwen3-14b"}) {
    PredictionQuestion question = of_model();
    question.decoder->model = find_model(name);
    question.decoder->model.vocabulary = 0;
    question.decoder->prompt = 2;
    question.decoder->tokens_per_second = 250.0;
    const double bytes = 2.0 * question.decoder->model.hidden;
    const double calls = 2.0 * question.decoder->model.layers;
    const double truth = 1.0 + calls * (on_host(bytes) - on_link(bytes)) * 250.0;
    for (int i = 0; i < kRecords; ++i) {
      Scatter scatter(0.03, static_cast<unsigned>(i));
      const Record record =
          run_of(measured_curves(sized(8), {4096, 8192, 16384, 32768}, on_link, on_host, scatter));
      held += decode_of(predict(record, question)).ratio->may_be(truth) ? 1 : 0;
    }
  }
  EXPECT_GE(held, 0.93 * 2 * kRecords);
  EXPECT_LE(held, 0.995 * 2 * kRecords);
}

TEST(ModelShape, HasThePublishedNumberOfParameters) {
  const std::vector<std::pair<const char*, double>> kBillions{
      {"llama-3-8b", 8.03},  {"llama-3-70b", 70.55}, {"qwen2.5-7b", 7.62},
      {"qwen2.5-72b", 72.7}, {"qwen3-8b", 8.19},     {"qwen3-14b", 14.77},
      {"qwen3-32b", 32.76},  {"mistral-7b", 7.25},   {"mistral-small-24b", 23.57},
      {"gemma-2-9b", 9.24},  {"gemma-2-27b", 27.23}, {"gemma-3-27b", 27.01}};
  ASSERT_EQ(kBillions.size(), model_names().size());
  for (const auto& [name, billions] : kBillions) {
    const ModelShape model = find_model(name);
    const bool is_tied = model.name.starts_with("gemma");
    const double weights =
        model.layers * layer_weights(model, 1) + (is_tied ? 1.0 : 2.0) * head_weights(model);
    EXPECT_NEAR(weights / 1e9, billions, 0.005 * billions) << name;
  }
}

/// Asks for both phases of a model whose speeds are known.
PredictionQuestion of_known_speeds() {
  PredictionQuestion question = of_model(8);
  question.decoder->model = find_model("llama-3-8b");
  question.decoder->tokens_per_second = 2000.0;
  question.decoder->prompt_tokens_per_second = 4096 / 0.050;
  return question;
}

TEST(PredictionReport, AsksAboutASpeedFarBelowWhatProductsAllow) {
  const auto report = [](double tokens_per_second) {
    PredictionQuestion question = of_model(64);
    question.decoder->tokens_per_second = tokens_per_second;
    return to_markdown(prediction_report(predict(inference_record(), question)));
  };
  EXPECT_THAT(report(70.0), HasSubstr("together?"));
  EXPECT_THAT(report(5000.0), Not(HasSubstr("together?")));
}

TEST(PredictionReport, SaysAboutWithoutASpeedOfAnEngine) {
  const auto report = [](const PredictionQuestion& question) {
    return to_markdown(prediction_report(predict(inference_record(), question)));
  };
  EXPECT_THAT(report(of_model()), HasSubstr("1 about 1.09x"));
  EXPECT_THAT(report(of_known_speeds()), Not(HasSubstr("about 1")));
}

TEST(PredictionReport, SaysWhichProductsStandInForOthers) {
  const auto report = [](int hidden) {
    PredictionQuestion question = of_model();
    question.decoder->model.hidden = hidden;
    return to_markdown(prediction_report(predict(inference_record(), question)));
  };
  EXPECT_THAT(report(16384), HasSubstr("those of 8192"));
  EXPECT_THAT(report(5120), Not(HasSubstr("no products")));
}

TEST(PredictionReport, SaysThatWeightsDoNotFit) {
  const auto report = [](double gigabytes, std::optional<double> speed) {
    Record record = inference_record();
    for (RankInfo& rank : record.machine.ranks) {
      rank.gpu->memory_bytes = static_cast<std::int64_t>(gigabytes * 1e9);
    }
    PredictionQuestion question = of_model();
    question.decoder->tokens_per_second = speed;
    return to_markdown(prediction_report(predict(record, question)));
  };
  const char* const note = "do not fit into the memory of 2 x";
  EXPECT_THAT(report(24.0, std::nullopt), Not(HasSubstr(note)));
  EXPECT_THAT(report(6.0, std::nullopt), HasSubstr(note));
  EXPECT_THAT(report(6.0, 70.0), Not(HasSubstr(note)));
}

TEST(Decode, RefusesACacheThatFitsIntoNoGpu) {
  const auto predicted = [](int batch) {
    Record record = inference_record();
    for (RankInfo& rank : record.machine.ranks) rank.gpu->memory_bytes = 24'000'000'000;
    PredictionQuestion question = of_model(batch);
    question.decoder->context = 100'000;
    return predict(record, question);
  };
  EXPECT_NO_THROW(predicted(3));  // 65.5 kB a token and GPU
  EXPECT_THROW(predicted(4), UsageError);
}

TEST(Decode, SeesAGivenSpeedUnderTheVariantThatIsTodaysPath) {
  PredictionQuestion question = of_model(8);
  question.decoder->tokens_per_second = 100.0;
  question.on = "p2p";
  const Prediction prediction = predict(without_bridge(), question);
  EXPECT_EQ(prediction.on, Side::other);
  EXPECT_NEAR(decode_of(prediction).other->value, 0.08, 1e-12);
  EXPECT_LT(decode_of(prediction).link->value, 0.08);
}

TEST(PredictionReport, IsOneScreen) {
  PredictionQuestion slow = of_model();
  slow.decoder->tokens_per_second = 100.0;
  PredictionQuestion of_one_sequence = of_model(64);
  of_one_sequence.decoder->tokens_per_second = 70.0;
  const std::pair<Record, PredictionQuestion> questions[] = {
      {with_training(), of_known_speeds()},
      {with_training(), of_model()},
      {with_training(), of_training(1e9, 0.2)},
      {inference_record(), of_model()},
      {without_bridge(), slow},
      {without_bridge(), of_training(1e9, 0.2)},
      {without_bridge(Path::pcie_p2p), slow},
      {inference_record(), of_one_sequence},
      {planted_record(on_host, on_link), slow}};
  std::string text;
  for (const auto& [record, question] : questions) {
    const Prediction prediction = predict(record, question);
    const std::string screen = to_terminal(prediction_report(prediction), {.columns = 80});
    EXPECT_LE(std::ranges::count(screen, '\n'), 24);
    text += screen + "\n";
  }
  expect_golden(text, "prediction.txt");
}

TEST(PredictionReport, SaysTheEndsOfARangeAndTheStrategyAsAsked) {
  PredictionQuestion question = of_training(1e9, 0.2);
  question.training->strategy = Sharding::fsdp;
  const Prediction prediction = predict(planted_record(), question);
  const Interval range = *prediction.phases.at(0).hidden_to_exposed;
  const Document report = prediction_report(prediction);
  const std::string ends = fmt::format("{:.2f}–{:.2f}x", range.low, range.high);
  for (const std::string& text : {to_terminal(report, {.columns = 100}), to_markdown(report)}) {
    EXPECT_THAT(text, AllOf(HasSubstr(ends), HasSubstr("with fsdp"), HasSubstr("training, fsdp"),
                            Not(HasSubstr("zero3"))));
  }
  EXPECT_EQ(json::Out::parse(to_json(prediction)).at("question").at("strategy"), "fsdp");
}

TEST(PredictionReport, HasTheSameForPrograms) {
  const Prediction prediction = predict(with_training(), of_known_speeds());
  const json::Out document = json::Out::parse(to_json(prediction));
  EXPECT_EQ(document.at("question").at("model"), "llama-3-8b");
  EXPECT_EQ(document.at("question").at("on"), "p2p");
  const json::Out& decode = document.at("decode");
  const Estimate ratio = *decode_of(prediction).ratio;
  EXPECT_DOUBLE_EQ(decode.at("now_s"), 0.004);
  EXPECT_DOUBLE_EQ(decode.at("less_time"), 1.0 - 1.0 / ratio.value);
  EXPECT_DOUBLE_EQ(decode.at("less_time_low"), 1.0 - 1.0 / ratio.interval->low);
  EXPECT_DOUBLE_EQ(decode.at("less_time_high"), 1.0 - 1.0 / ratio.interval->high);
  EXPECT_DOUBLE_EQ(decode.at("communication_s"), decode_of(prediction).communication_link.value);
  EXPECT_EQ(decode.at("rests_on"), "given");
  EXPECT_TRUE(document.at("prefill").at("split_slower_without_link"));
  const json::Out training =
      json::Out::parse(to_json(predict(planted_record(), of_training(1e9, 0.2)))).at("training");
  EXPECT_TRUE(training.at("other_s").is_null());
  EXPECT_EQ(training.at("less_time_all_hidden"), 0.0);
}

}  // namespace
}  // namespace linkgain::test
