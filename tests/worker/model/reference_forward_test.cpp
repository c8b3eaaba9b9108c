#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "kernels/random/model_random.hpp"
#include "linkgain/model/training_model.hpp"
#include "model_steps.hpp"

namespace linkgain::test {
namespace {

// The reference's loss against GPT-2's formulas, written down once more, a token and a number at a
// time. It also says which number of the mask belongs to which element.

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// A. Radford et al., "Language models are unsupervised multitask learners", 2019, with dropout.
class PlainGpt2 {
 public:
  PlainGpt2(TrainingModel& model, std::uint64_t seed, double dropout)
      : table_(model.table()), values_(parameters_of(model)), seed_(seed), dropout_(dropout) {}

  /// Sums the losses of one row of tokens.
  double loss(const std::int32_t* tokens, int length, std::int64_t step, std::int64_t sample) {
    step_ = step;
    sample_ = sample;
    length_ = length;
    Rows stream;
    for (int t = 0; t < length; ++t) {
      Row row(width());
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] = parameter(TensorKind::token_embedding, 0, tokens[t], c) +
                 parameter(TensorKind::position_embedding, 0, t, c);
      }
      stream.push_back(dropped(kernels::kEmbeddingDropout, t, row));
    }
    for (int block = 0; block < table_.config().layers; ++block) stream = blocked(stream, block);
    double sum = 0.0;
    for (int t = 0; t < length; ++t) {
      sum += surprise(normed(stream[static_cast<std::size_t>(t)], TensorKind::final_norm_weight,
                             TensorKind::final_norm_bias, 0),
                      tokens[t + 1]);
    }
    return sum;
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(table_.config().channels); }

  double parameter(TensorKind kind, int block, std::int64_t row, std::size_t column) const {
    const ParameterTensor& tensor = table_.tensor(kind, block);
    return values_[static_cast<std::size_t>(tensor.offset + row * tensor.columns) + column];
  }

  double mask(int place, std::int64_t element) const {
    const auto mask = kernels::dropout_mask(seed_, step_, place, dropout_);
    return kernels::is_kept(mask, element) ? static_cast<double>(mask.scale) : 0.0;
  }

  Row dropped(int place, std::int64_t t, Row row) const {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::int64_t element = (sample_ * length_ + t) * static_cast<std::int64_t>(width());
      row[c] *= mask(place, element + static_cast<std::int64_t>(c));
    }
    return row;
  }

  Row normed(const Row& row, TensorKind weight, TensorKind bias, int block) const {
    double mean = 0.0;
    double square = 0.0;
    for (const double value : row) {
      mean += value / static_cast<double>(row.size());
      square += value * value / static_cast<double>(row.size());
    }
    Row result;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double normal = (row[c] - mean) / std::sqrt(square - mean * mean + 0.00001);
      result.push_back(normal * parameter(weight, block, 0, c) + parameter(bias, block, 0, c));
    }
    return result;
  }

  Row projected(const Row& row, TensorKind weight, TensorKind bias, int block) const {
    Row result(static_cast<std::size_t>(table_.tensor(weight, block).columns));
    for (std::size_t c = 0; c < result.size(); ++c) {
      result[c] = parameter(bias, block, 0, c);
      for (std::size_t i = 0; i < row.size(); ++i) {
        result[c] += row[i] * parameter(weight, block, static_cast<std::int64_t>(i), c);
      }
    }
    return result;
  }

  /// Returns what the head of the token at `t` takes from the ones up to it.
  Row attended(const Rows& qkv, std::size_t t, std::size_t head, int block) const {
    const std::size_t size = static_cast<std::size_t>(table_.config().head_channels());
    const std::size_t first = head * size;
    Row result(size, 0.0);
    double sum = 0.0;
    for (std::size_t u = 0; u <= t; ++u) {
      double score = 0.0;
      for (std::size_t d = first; d < first + size; ++d) score += qkv[t][d] * qkv[u][width() + d];
      const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
      const std::int64_t map = sample_ * table_.config().heads + static_cast<std::int64_t>(head);
      const std::int64_t query = map * length_ + static_cast<std::int64_t>(t);
      const double kept =
          mask(kernels::probability_dropout(block), query * length_ + static_cast<std::int64_t>(u));
      sum += weight;
      for (std::size_t d = 0; d < size; ++d) {
        result[d] += kept * weight * qkv[u][2 * width() + first + d];
      }
    }
    for (double& value : result) value /= sum;
    return result;
  }

  static double gelu(double x) {
    return x / (1.0 + std::exp(-2.0 * std::sqrt(2.0 / std::acos(-1.0)) *
                               (x + 0.044715 * std::pow(x, 3))));
  }

  Rows blocked(const Rows& stream, int block) const {
    Rows qkv;
    for (const Row& row : stream) {
      const Row normal =
          normed(row, TensorKind::attention_norm_weight, TensorKind::attention_norm_bias, block);
      qkv.push_back(
          projected(normal, TensorKind::attention_weight, TensorKind::attention_bias, block));
    }
    Rows result;
    for (std::size_t t = 0; t < stream.size(); ++t) {
      Row heads;
      for (int head = 0; head < table_.config().heads; ++head) {
        const Row one = attended(qkv, t, static_cast<std::size_t>(head), block);
        heads.insert(heads.end(), one.begin(), one.end());
      }
      const auto place = static_cast<std::int64_t>(t);
      const Row middle = sum(stream[t], dropped(kernels::attention_dropout(block), place,
                                                projected(heads, TensorKind::projection_weight,
                                                          TensorKind::projection_bias, block)));
      Row hidden = projected(normed(middle, TensorKind::feed_forward_norm_weight,
                                    TensorKind::feed_forward_norm_bias, block),
                             TensorKind::expansion_weight, TensorKind::expansion_bias, block);
      for (double& value : hidden) value = gelu(value);
      result.push_back(sum(middle, dropped(kernels::feed_forward_dropout(block), place,
                                           projected(hidden, TensorKind::contraction_weight,
                                                     TensorKind::contraction_bias, block))));
    }
    return result;
  }

  static Row sum(Row a, const Row& b) {
    for (std::size_t c = 0; c < a.size(); ++c) a[c] += b[c];
    return a;
  }

  /// Returns -ln softmax at `target`.
  double surprise(const Row& row, std::int32_t target) const {
    double sum = 0.0;
    double at_target = 0.0;
    for (int token = 0; token < table_.config().vocabulary; ++token) {
      double logit = 0.0;
      for (std::size_t c = 0; c < row.size(); ++c) {
        logit += row[c] * parameter(TensorKind::token_embedding, 0, token, c);
      }
      sum += std::exp(logit);
      if (token == target) at_target = logit;
    }
    return std::log(sum) - at_target;
  }

  const ParameterTable& table_;
  const Row values_;
  const std::uint64_t seed_;
  const double dropout_;
  std::int64_t step_ = 0;
  std::int64_t sample_ = 0;
  std::int64_t length_ = 0;
};

TEST(ReferenceForward, IsGpt2) {
  constexpr std::uint64_t kSeed = (std::uint64_t{3} << 32) + 5;
  const Gpt2Config config = gpt2_config(ModelSize::tiny);
  const BatchShape shape{2, 15};
  for (const double dropout : {0.0, 0.1}) {
    const auto model = make_reference_model({config, shape, dropout, kSeed});
    roughen(*model, 0.15);
    PlainGpt2 plain(*model, kSeed, dropout);
    const auto tokens = generated_batch(config, {}, shape);
    double expected = 0.0;
    for (int i = 0; i < shape.samples; ++i) {
      const auto* row = tokens.data() + static_cast<std::ptrdiff_t>(i) * (shape.length + 1);
      expected += plain.loss(row, shape.length, 4, 6 + i) / static_cast<double>(shape.tokens());
    }
    const double loss = run_forward(*model, {.tokens = tokens, .step = 4, .first_sample = 6});
    EXPECT_NEAR(loss, expected, 1e-12 * expected) << dropout;
  }
}

/// Leaves out keys' biases: they move all scores of a query alike, so that their gradient is 0 in
/// exact arithmetic, and what AdamW makes of it is rounding alone.
bool counts(const ParameterTensor& tensor, std::int64_t element) {
  if (!std::string_view(tensor.name).ends_with("attn.c_attn.bias")) return true;
  return element < tensor.columns / 3 || element >= 2 * tensor.columns / 3;
}

double norm(const std::vector<double>& values, const ParameterTensor& tensor, bool all) {
  double squares = 0.0;
  for (std::int64_t i = 0; i < tensor.rows * tensor.columns; ++i) {
    const double value = values[static_cast<std::size_t>(tensor.offset + i)];
    if (all || counts(tensor, i)) squares += value * value;
  }
  return std::sqrt(squares);
}

// Compares with PyTorch's answers in float64; the file names the command that computed them.
TEST(ReferenceAnswers, LossesGradientsAndStepsArePytorchs) {
  std::ifstream file(TEST_DATA "/tiny_gpt2_pytorch.json");
  const nlohmann::json answers = nlohmann::json::parse(file);
  const BatchShape shape{answers.at("samples"), answers.at("length")};
  const Gpt2Config config = gpt2_config(ModelSize::tiny);
  const auto model = make_reference_model({.config = config, .shape = shape, .dropout = 0.0});
  roughen(*model, answers.at("deviation"));
  const std::vector<double> start = parameters_of(*model);

  const std::vector<double> losses = answers.at("losses");
  const auto steps = static_cast<std::int64_t>(losses.size());
  std::vector<double> gradients;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto tokens = generated_batch(config, {step, 0, 1}, shape);
    const double loss = run_gradients(*model, {.tokens = tokens, .step = step});
    EXPECT_NEAR(loss, losses[static_cast<std::size_t>(step)], 1e-12 * loss) << "step " << step;
    if (step == 0) gradients = gradients_of(*model);
    run_norm(*model);
    model->update(all_of(*model), optimizer_step({}, step, steps));
  }
  std::vector<double> change = parameters_of(*model);
  for (std::size_t i = 0; i < change.size(); ++i) change[i] -= start[i];

  const auto& tensors = answers.at("tensors");
  ASSERT_EQ(tensors.size(), model->table().tensors().size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ParameterTensor& tensor = model->table().tensors()[i];
    EXPECT_EQ(tensors[i].at("name"), tensor.name);
    const double gradient = tensors[i].at("gradient_norm");
    EXPECT_NEAR(norm(gradients, tensor, true), gradient, 1e-12 * gradient) << tensor.name;
    const double changed = tensors[i].at("change_norm");
    EXPECT_NEAR(norm(change, tensor, false), changed, 1e-9 * changed) << tensor.name;
  }
}

// The reference's gradients against differences of its loss.

constexpr double kMostError = 1e-6;

class ReferenceGradients : public ::testing::TestWithParam<double> {
 protected:
  ReferenceGradients() {
    roughen(*model_, 0.15);
    tokens_ = generated_batch(config_, {}, shape_);
    run_gradients(*model_, input());
    parameters_ = parameters_of(*model_);
    gradients_ = gradients_of(*model_);
  }

  StepInput input() const { return {.tokens = tokens_, .step = 4, .first_sample = 6}; }

  /// Returns the loss with parameters moved by `distance` along `direction`, from `offset` on.
  double loss_at(std::int64_t offset, const std::vector<double>& direction, double distance) {
    const ParameterRange range{offset, static_cast<std::int64_t>(direction.size())};
    std::vector<double> moved(direction.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] = parameters_[static_cast<std::size_t>(offset) + i] + distance * direction[i];
    }
    model_->write_parameters(range, moved.data());
    const double loss = run_forward(*model_, input());
    model_->write_parameters(range, parameters_.data() + offset);
    return loss;
  }

  /// Takes central differences of fourth order: their error is that of the fifth derivative.
  double slope(std::int64_t offset, const std::vector<double>& direction) {
    const auto difference = [&](double distance) {
      return loss_at(offset, direction, distance) - loss_at(offset, direction, -distance);
    };
    constexpr double kDistance = 2e-3;
    return (8.0 * difference(kDistance) - difference(2.0 * kDistance)) / (12.0 * kDistance);
  }

  const double* gradient_of(const ParameterTensor& tensor) const {
    return gradients_.data() + tensor.offset;
  }

  const Gpt2Config config_ = gpt2_config(ModelSize::tiny);
  // Shorter than the model's positions: the rest of wpe has no gradient.
  const BatchShape shape_{2, 20};
  const std::unique_ptr<TrainingModel> model_ =
      make_reference_model({config_, shape_, GetParam(), 5});
  std::vector<std::int32_t> tokens_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
};

/// Returns a step of length 1 to which all elements contribute alike, with random signs.
std::vector<double> mixed_direction(const ParameterTensor& tensor) {
  std::vector<double> direction(static_cast<std::size_t>(tensor.count()));
  const double share = 1.0 / std::sqrt(static_cast<double>(tensor.count()));
  for (std::size_t i = 0; i < direction.size(); ++i) {
    const bool up = (kernels::random_word({3, 201, 0, 0}, i) & 1) != 0;
    direction[i] = up ? share : -share;
  }
  return direction;
}

TEST_P(ReferenceGradients, OfWholeTensorsAreSlopesOfTheLoss) {
  for (const ParameterTensor& tensor : model_->table().tensors()) {
    const std::vector<double> direction = mixed_direction(tensor);
    const double* gradient = gradient_of(tensor);
    double expected = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      expected += gradient[i] * direction[i];
      squares += gradient[i] * gradient[i];
    }
    // One element's share of the slope is its gradient over the root of the count.
    const double size = std::sqrt(squares / static_cast<double>(tensor.count()));
    ASSERT_GT(size, 0.0) << tensor.name;
    EXPECT_NEAR(slope(tensor.offset, direction), expected, kMostError * size) << tensor.name;
  }
}

TEST_P(ReferenceGradients, OfSingleElementsAreSlopesOfTheLoss) {
  for (const ParameterTensor& tensor : model_->table().tensors()) {
    const double* gradient = gradient_of(tensor);
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const auto largest = std::max_element(gradient, gradient + tensor.count(), smaller);
    EXPECT_NEAR(slope(largest - gradients_.data(), {1.0}), *largest,
                kMostError * std::abs(*largest))
        << tensor.name;
  }
}

TEST_P(ReferenceGradients, OfPositionsThatTheBatchDoesNotReachAreZero) {
  const ParameterTensor& tensor = model_->table().tensor(TensorKind::position_embedding);
  ASSERT_LT(shape_.length, config_.positions);
  for (std::int64_t i = shape_.length * config_.channels; i < tensor.count(); ++i) {
    ASSERT_EQ(gradient_of(tensor)[i], 0.0) << i;
  }
}

TEST_P(ReferenceGradients, AreOverwrittenInEveryStep) {
  run_gradients(*model_, input());
  EXPECT_EQ(gradients_of(*model_), gradients_);
}

INSTANTIATE_TEST_SUITE_P(Dropout, ReferenceGradients, ::testing::Values(0.0, 0.1));

}  // namespace
}  // namespace linkgain::test
