#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/model/reference_model.hpp"
#include "model_steps.hpp"

namespace linkgain::test {
namespace {

/// Elements of a tensor that are to be compared. A key's bias moves all scores of a query alike, so
/// that its gradient is 0 in exact arithmetic, and what AdamW makes of it is rounding alone.
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

// The file names the command that had PyTorch compute it, in float64.
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

}  // namespace
}  // namespace linkgain::test
