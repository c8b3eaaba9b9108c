#include "linkgain/model/training_model.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/model/tokens.hpp"
#include "model_steps.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"
#include "support/token_file.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Computes nothing: notes which of its functions were reached.
class NotingModel : public TrainingModel {
 public:
  std::vector<std::string> calls;
  bool fails = false;  ///< every call of a step from now on

 private:
  void note(const std::string& call) {
    if (fails) throw std::runtime_error("as asked for");
    calls.push_back(call);
  }

  const ParameterTable& do_table() const override { return table_; }
  BatchShape do_shape() const override { return {1, 8}; }
  FlatMemory do_parameters() override { return {nullptr, DataType::float32, table_.count()}; }
  FlatMemory do_gradients() override { return do_parameters(); }
  FlatMemory do_squared_norm() override { return {nullptr, DataType::float32, 1}; }
  FlatMemory do_loss() override { return {nullptr, DataType::float32, 1}; }
  void* do_stream() override { return nullptr; }
  void do_start_timing() override { note("start"); }
  Seconds do_stop_timing() override {
    note("stop");
    return {2.0};
  }
  void do_begin_step(const StepInput&) override { note("begin"); }
  void do_forward(int segment) override { note("forward " + std::to_string(segment)); }
  void do_backward(int segment, GradientListener&) override {
    note("backward " + std::to_string(segment));
  }
  void do_parameters_changed(const ParameterRange&) override { note("changed"); }
  void do_clear_squared_norm() override {}
  void do_add_squared_norm(const ParameterRange&) override { note("norm"); }
  void do_update(const ParameterRange&, const OptimizerStep&) override { note("update"); }
  void do_synchronize() override {}
  void do_read_parameters(const ParameterRange&, double*) override { note("read parameters"); }
  void do_read_gradients(const ParameterRange&, double*) override { note("read gradients"); }
  void do_write_parameters(const ParameterRange&, const double*) override { note("write"); }
  double do_read_loss() override { return 0.0; }
  std::uint64_t do_parameter_hash() override { return 0; }
  std::uint64_t do_gradient_hash(const ParameterRange&) override {
    note("hash");
    return 7;
  }

  ParameterTable table_{gpt2_config(ModelSize::tiny)};
};

constexpr int kSegments = 4;

void run_forward(NotingModel& model) {
  model.begin_step({});
  for (int segment = 0; segment < kSegments; ++segment) model.forward(segment);
}

/// Returns the segments whose forward, or whose backward, the model takes now.
std::vector<int> taken(const std::function<void(int)>& call) {
  std::vector<int> segments;
  for (int segment = -2; segment <= kSegments; ++segment) {
    try {
      call(segment);
      segments.push_back(segment);
    } catch (const std::logic_error&) {
    }
  }
  return segments;
}

TEST(TrainingModel, TakesAStepInItsOrder) {
  NotingModel model;
  OrderListener listener;
  run_forward(model);
  for (int segment = kSegments - 1; segment >= 0; --segment) model.backward(segment, listener);
  EXPECT_THAT(model.calls, ElementsAre("begin", "forward 0", "forward 1", "forward 2", "forward 3",
                                       "backward 3", "backward 2", "backward 1", "backward 0"));
}

TEST(TrainingModel, RefusesAllSegmentsOutsideOfAStep) {
  NotingModel model;
  OrderListener listener;
  const auto forward = [&](int segment) { model.forward(segment); };
  const auto backward = [&](int segment) { model.backward(segment, listener); };
  EXPECT_THAT(taken(forward), IsEmpty());
  EXPECT_THAT(taken(backward), IsEmpty());
  EXPECT_THAT(model.calls, IsEmpty());
  run_forward(model);
  EXPECT_THAT(taken(forward), IsEmpty());
  for (int segment = kSegments - 1; segment >= 0; --segment) model.backward(segment, listener);
  EXPECT_THAT(taken(forward), IsEmpty());
  EXPECT_THAT(taken(backward), IsEmpty());
}

// Asks for segments one after the other, upwards: only those in order are taken.
TEST(TrainingModel, RefusesSegmentsOutOfOrder) {
  NotingModel model;
  OrderListener listener;
  const auto backward = [&](int segment) { model.backward(segment, listener); };
  model.begin_step({});
  EXPECT_THROW(model.forward(1), std::logic_error);
  EXPECT_THAT(taken(backward), IsEmpty());
  model.forward(0);
  EXPECT_THROW(model.forward(0), std::logic_error);
  EXPECT_THROW(model.forward(2), std::logic_error);
  EXPECT_THAT(taken([&](int segment) { model.forward(segment); }), ElementsAre(1, 2, 3));
  EXPECT_THAT(taken(backward), ElementsAre(3));
  EXPECT_THAT(taken(backward), ElementsAre(2));
  EXPECT_THAT(taken(backward), ElementsAre(1));
  EXPECT_THAT(taken(backward), ElementsAre(0));
}

TEST(TrainingModel, BeginsAnewWithEveryStep) {
  NotingModel model;
  OrderListener listener;
  run_forward(model);
  model.begin_step({});
  EXPECT_THROW(model.backward(kSegments - 1, listener), std::logic_error);
  EXPECT_NO_THROW(model.forward(0));
}

TEST(TrainingModel, StaysWhereItWasAfterACallThatFailed) {
  NotingModel model;
  OrderListener listener;
  model.fails = true;
  EXPECT_THROW(model.begin_step({}), std::runtime_error);
  EXPECT_THROW(model.start_timing(), std::runtime_error);
  model.fails = false;
  EXPECT_THROW(model.forward(0), std::logic_error);
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  run_forward(model);
  model.fails = true;
  EXPECT_THROW(model.backward(3, listener), std::runtime_error);
  model.fails = false;
  EXPECT_NO_THROW(model.backward(3, listener));
}

TEST(TrainingModel, EndsATimingThatBegan) {
  NotingModel model;
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  model.start_timing();
  EXPECT_EQ(model.stop_timing().value, 2.0);
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  EXPECT_THAT(model.calls, ElementsAre("start", "stop"));
}

TEST(TrainingModel, RefusesRangesThatTheParametersDoNotHave) {
  NotingModel model;
  double value = 0.0;
  const std::vector<std::function<void(const ParameterRange&)>> users{
      [&](const ParameterRange& range) { model.parameters_changed(range); },
      [&](const ParameterRange& range) { model.add_squared_norm(range); },
      [&](const ParameterRange& range) { model.update(range, {}); },
      [&](const ParameterRange& range) { model.read_parameters(range, &value); },
      [&](const ParameterRange& range) { model.read_gradients(range, &value); },
      [&](const ParameterRange& range) { model.write_parameters(range, &value); },
      [&](const ParameterRange& range) { EXPECT_EQ(model.gradient_hash(range), 7U); },
  };
  const std::int64_t count = model.table().count();
  for (const auto& use : users) {
    EXPECT_THROW(use({0, count + 1}), std::logic_error);
    EXPECT_THROW(use({count, 1}), std::logic_error);
    EXPECT_THROW(use({-1, 2}), std::logic_error);
    EXPECT_THROW(use({2, -1}), std::logic_error);
  }
  EXPECT_THAT(model.calls, IsEmpty());
  for (const auto& use : users) {
    use({0, count});
    use({count, 0});
  }
  EXPECT_EQ(model.calls.size(), 2 * users.size());
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments_of(const ParameterTensor& tensor, const std::vector<double>& parameters) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = parameters[static_cast<std::size_t>(tensor.offset + i)];
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(tensor.count());
  return {sum / count, std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)))};
}

TEST(InitialWeights, AreThoseOfGpt2) {
  const ParameterTable table(gpt2_config(ModelSize::tiny));
  std::vector<double> parameters(static_cast<std::size_t>(table.count()), 99.0);
  write_initial_weights(table, 1, parameters);
  for (const ParameterTensor& tensor : table.tensors()) {
    const Moments moments = moments_of(tensor, parameters);
    const bool is_bias = tensor.name.ends_with("bias");
    const bool is_norm = tensor.name.find("ln_") != std::string::npos;
    if (is_bias || is_norm) {
      EXPECT_EQ(moments.mean, is_bias ? 0.0 : 1.0) << tensor.name;
      EXPECT_EQ(moments.deviation, 0.0) << tensor.name;
      continue;
    }
    // Two blocks: projections into the residual stream have 0.02 / sqrt(4).
    const double deviation = tensor.name.find("c_proj") != std::string::npos ? 0.01 : 0.02;
    const double error = 4 * deviation / std::sqrt(static_cast<double>(tensor.count()));
    EXPECT_NEAR(moments.mean, 0.0, error) << tensor.name;
    EXPECT_NEAR(moments.deviation, deviation, error) << tensor.name;
  }
}

TEST(InitialWeights, AreAFunctionOfTheSeed) {
  const ParameterTable table(gpt2_config(ModelSize::tiny));
  std::vector<double> first(static_cast<std::size_t>(table.count()));
  std::vector<double> second = first;
  std::vector<double> other = first;
  write_initial_weights(table, 1, first);
  write_initial_weights(table, 1, second);
  write_initial_weights(table, 2, other);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_EQ(first[5], static_cast<double>(kernels::initial_weight(1, 0, 5, {0.0, 0.02})));
}

TEST(InitialWeights, OfGpt2sTwelveLayersDivideByTheRootOfTwentyFour) {
  const Gpt2Config config = gpt2_config(ModelSize::gpt2);
  const auto expected = 0.02 / std::sqrt(24.0);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::projection_weight).deviation, expected);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::contraction_weight).deviation,
                   expected);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::expansion_weight).deviation, 0.02);
}

TEST(OptimizerStep, LearnsLessFromStepToStep) {
  const OptimizerSettings settings;
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 0, 200).learning_rate, 5e-5);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 100, 200).learning_rate, 2.5e-5);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 199, 200).learning_rate, 5e-5 / 200);
  EXPECT_EQ(optimizer_step(settings, 200, 200).learning_rate, 0.0);
  EXPECT_EQ(optimizer_step(settings, 300, 200).learning_rate, 0.0);
}

TEST(OptimizerStep, CorrectsMomentsThatBeginAtZero) {
  const OptimizerSettings settings;
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 0, 10).correction1, 0.1);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 1, 10).correction1, 0.19);
  EXPECT_NEAR(optimizer_step(settings, 0, 10).correction2, 0.001, 1e-15);
  EXPECT_NEAR(optimizer_step(settings, 1, 10).correction2, 0.001999, 1e-15);
}

TEST(ClipFactor, LeavesSmallGradientsAlone) {
  EXPECT_EQ(clip_factor(0.0, 1.0), 1.0);
  EXPECT_EQ(clip_factor(0.25, 1.0), 1.0);
  EXPECT_NEAR(clip_factor(4.0, 1.0), 0.5, 1e-6);
  EXPECT_LT(clip_factor(1.0, 1.0), 1.0);  // as PyTorch's
}

constexpr int kVocabulary = 131;

/// A token file of its own, removed at the end.
class TokenFileTest : public ::testing::Test {
 protected:
  ~TokenFileTest() override { std::filesystem::remove(path_); }

  void write(const TokenFileHeader& header, const std::vector<std::uint16_t>& tokens) const {
    write_token_file(path_, header, tokens);
  }

  /// Returns tokens 0, 1, 2, …
  static std::vector<std::uint16_t> counting(int count) {
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
    return tokens;
  }

  /// Returns what reading the file is refused with, and the advice.
  std::string refusal() const {
    const std::string refusal =
        refusal_of<UsageError>([&] { read_token_file(path_, kVocabulary); });
    return with_replaced(refusal, path_, "FILE");
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("linkgain_tokens." + std::to_string(getpid())))
          .string();
};

std::vector<std::int32_t> sequence(const TokenSource& source, std::int64_t number, int length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length) + 1);
  source.read_sequence(number, tokens);
  return tokens;
}

TEST_F(TokenFileTest, IsCutIntoSequencesThatShareTheirEnds) {
  write({20240520, 1, 10}, counting(10));
  const auto source = read_token_file(path_, kVocabulary);
  EXPECT_THAT(sequence(*source, 0, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sequence(*source, 1, 4), ElementsAre(4, 5, 6, 7, 8));
  // The third would need token 12: the text begins anew.
  EXPECT_THAT(sequence(*source, 2, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sequence(*source, 7, 9), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(source->description(), HasSubstr("10 tokens"));
  EXPECT_THROW(sequence(*source, 0, 10), UsageError);
}

TEST_F(TokenFileTest, IsRefusedWithAReason) {
  Situations situations;
  const auto add = [&](const std::string& situation) { situations.add(situation, refusal()); };
  add("no file");
  std::ofstream(path_) << "some text";
  add("a text of 9 bytes");
  const auto add_file = [&](const std::string& situation, const TokenFileHeader& header,
                            int tokens) {
    write(header, counting(tokens));
    add(situation);
  };
  add_file("the first number is 1", {1, 1, 10}, 10);
  add_file("version 2", {20240520, 2, 10}, 10);
  add_file("11 tokens in the header, 10 in the file", {20240520, 1, 11}, 10);
  add_file("9 tokens in the header, 10 in the file", {20240520, 1, 9}, 10);
  add_file("-5 tokens in the header", {20240520, 1, -5}, 10);
  add_file("one token", {20240520, 1, 1}, 1);
  add_file("a token of 131 where the vocabulary has 131", {20240520, 1, 140}, 140);
  expect_golden(situations.text(), "refused_token_files.txt");
}

TEST_F(TokenFileTest, IsNoFolder) { EXPECT_THROW(read_token_file("/", kVocabulary), UsageError); }

TEST(GeneratedTokens, FollowZipfsLaw) {
  const auto source = generated_tokens(kVocabulary, 3);
  constexpr int kCount = 100'000;
  std::vector<int> counts(kVocabulary, 0);
  for (const std::int32_t token : sequence(*source, 0, kCount - 1)) {
    ASSERT_GE(token, 0);
    ASSERT_LT(token, kVocabulary);
    ++counts[static_cast<std::size_t>(token)];
  }
  double harmonic = 0.0;
  for (int k = 1; k <= kVocabulary; ++k) harmonic += 1.0 / k;
  for (const int k : {1, 2, 10, 131}) {
    const double expected = kCount / (k * harmonic);
    EXPECT_NEAR(counts[static_cast<std::size_t>(k) - 1], expected, 5 * std::sqrt(expected)) << k;
  }
}

TEST(GeneratedTokens, AreAFunctionOfSeedAndPlace) {
  const auto source = generated_tokens(kVocabulary, 3);
  EXPECT_EQ(sequence(*source, 5, 32), sequence(*generated_tokens(kVocabulary, 3), 5, 32));
  EXPECT_NE(sequence(*source, 5, 32), sequence(*generated_tokens(kVocabulary, 4), 5, 32));
  EXPECT_NE(sequence(*source, 5, 32), sequence(*source, 6, 32));
  // One text: a sequence goes on where the one before ended.
  EXPECT_EQ(sequence(*source, 5, 32).back(), sequence(*source, 6, 32).front());
  EXPECT_EQ(sequence(*source, 0, 64)[32], sequence(*source, 1, 32)[0]);
}

std::vector<std::int32_t> batch(const TokenSource& source, const BatchPlace& place,
                                const BatchShape& shape) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.samples * (shape.length + 1)));
  read_batch(source, place, shape, tokens);
  return tokens;
}

TEST(ReadBatch, GivesRanksTogetherWhatOneRankWouldHave) {
  const auto source = generated_tokens(kVocabulary, 3);
  for (const std::int64_t step : {0, 1, 17}) {
    const auto whole = batch(*source, {step, 0, 1}, {8, 16});
    std::vector<std::int32_t> together;
    for (int rank = 0; rank < 4; ++rank) {
      const auto part = batch(*source, {step, rank, 4}, {2, 16});
      together.insert(together.end(), part.begin(), part.end());
    }
    EXPECT_EQ(together, whole) << step;
  }
  EXPECT_NE(batch(*source, {0, 0, 1}, {8, 16}), batch(*source, {1, 0, 1}, {8, 16}));
}

}  // namespace
}  // namespace linkgain::test
