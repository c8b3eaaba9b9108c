#include "gpu_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/busy.hpp"
#include "linkgain/core/units.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/event.hpp"

namespace linkgain::on_gpu {
namespace {

struct Tensors {
  TensorKind weight;
  TensorKind bias;
};

/// In the order of Projection.
constexpr std::array<Tensors, kProjections> kTensors{
    Tensors{TensorKind::attention_weight, TensorKind::attention_bias},
    Tensors{TensorKind::projection_weight, TensorKind::projection_bias},
    Tensors{TensorKind::expansion_weight, TensorKind::expansion_bias},
    Tensors{TensorKind::contraction_weight, TensorKind::contraction_bias},
};

const Tensors& tensors_of(Projection projection) {
  return kTensors[static_cast<std::size_t>(projection)];
}

std::string describe(const gpu::ProductPlan& plan) {
  return fmt::format("product {}: {} (choice {} of {})", description(plan.shape()),
                     plan.candidates()[plan.chosen()].algorithm, plan.chosen() + 1,
                     plan.candidates().size());
}

}  // namespace

Products::Products(State& state)
    : state_(state),
      products_({.measure = state.options().measures_products}),
      weight_gradients_({.measure = state.options().measures_products}) {
  for (std::size_t i = 0; i < kProjections; ++i) blocks_[i] = plans_of(static_cast<Projection>(i));
  head_ = plans_of_head();
}

const gpu::ProductPlan* Products::plan(gpu::MatrixProducts& products, gpu::ProductShape shape) {
  shape.precision = state_.options().precision;
  // Gradients of weights have two matrices of activations and go where gradients are; the others
  // have one beside a weight and go into the arena, behind that one.
  const bool is_weight_gradient = shape.left_transposed;
  const std::int64_t left = state_.activation_bytes(
      is_weight_gradient ? std::max(shape.left_stride, shape.rows) : shape.inner);
  const MemorySpan behind{round_up(left, kSpanAlignment), 0};
  const void* weights = state_.operand(TensorKind::token_embedding);
  gpu::ProductOperands scratch{
      .left = state_.at({}), .right = weights, .bias = weights, .result = state_.at(behind)};
  if (is_weight_gradient) {
    scratch.right = state_.at(behind);
    scratch.result = state_.gradients();
  } else if (state_.is_bf16()) {
    shape.result = DataType::bfloat16;
  }
  return &products.plan(shape, scratch, state_.stream());
}

Products::Plans Products::plans_of(Projection projection) {
  const ParameterTensor& weight = state_.table().tensor(tensors_of(projection).weight);
  const std::int64_t tokens = state_.tokens();
  Plans plans{
      .forward =
          plan(products_,
               {.rows = tokens, .columns = weight.columns, .inner = weight.rows, .has_bias = true}),
      .weight_gradient = plan(weight_gradients_, {.rows = weight.rows,
                                                  .columns = weight.columns,
                                                  .inner = tokens,
                                                  .left_transposed = true}),
      .input_gradient = plan(products_, {.rows = tokens,
                                         .columns = weight.rows,
                                         .inner = weight.columns,
                                         .right_transposed = true})};
  plans.is_side_by_side = state_.options().measures_products && are_faster_side_by_side(plans);
  return plans;
}

Products::Plans Products::plans_of_head() {
  const std::int64_t tokens = state_.tokens();
  const std::int64_t padded = padded_vocabulary(state_.options().config);
  return {.forward = plan(products_, {.rows = tokens,
                                      .columns = padded,
                                      .inner = state_.channels(),
                                      .right_transposed = true}),
          .weight_gradient = plan(products_, {.rows = padded,
                                              .columns = state_.channels(),
                                              .inner = tokens,
                                              .left_transposed = true,
                                              .left_stride = padded}),
          .input_gradient =
              plan(products_, {.rows = tokens, .columns = state_.channels(), .inner = padded})};
}

bool Products::are_faster_side_by_side(const Plans& plans) {
  constexpr int kRounds = 4;
  const std::int64_t inputs = plans.weight_gradient->shape().rows;
  const std::int64_t outputs = plans.weight_gradient->shape().columns;
  const MemorySpan output_gradient{round_up(state_.activation_bytes(inputs), kSpanAlignment), 0};
  const MemorySpan input_gradient{
      output_gradient.begin + round_up(state_.activation_bytes(outputs), kSpanAlignment), 0};
  const GradientOperands scratch{.weight = {.left = state_.at({}),
                                            .right = state_.at(output_gradient),
                                            .result = state_.gradients()},
                                 .input = {.left = state_.at(output_gradient),
                                           .right = state_.operand(TensorKind::token_embedding),
                                           .result = state_.at(input_gradient)}};
  Seconds in_turn = time_of(plans, scratch, false);
  Seconds side_by_side = time_of(plans, scratch, true);
  for (int round = 1; round < kRounds; ++round) {
    in_turn = std::min(in_turn, time_of(plans, scratch, false));
    side_by_side = std::min(side_by_side, time_of(plans, scratch, true));
  }
  return side_by_side.value < gpu::kWorthwhileTime * in_turn.value;
}

Seconds Products::time_of(const Plans& plans, const GradientOperands& operands,
                          bool is_side_by_side) {
  constexpr int kRuns = 16;
  // Meanwhile the host gets ahead, so that no launch is waited for.
  constexpr double kHeadStart = 200.0;  // microseconds
  gpu::check(kernels::launch_busy(state_.stream().get(), kHeadStart));
  gpu::Event start;
  gpu::Event stop;
  start.record(state_.stream());
  for (int i = 0; i < kRuns; ++i) {
    if (is_side_by_side) {
      multiply_side_by_side(plans, operands);
    } else {
      weight_gradients_.multiply(*plans.weight_gradient, operands.weight, state_.stream());
      products_.multiply(*plans.input_gradient, operands.input, state_.stream());
    }
  }
  stop.record(state_.stream());
  stop.synchronize();
  return {gpu::elapsed(start, stop).value / kRuns};
}

void Products::multiply_side_by_side(const Plans& plans, const GradientOperands& operands) {
  side_.fork(state_.stream());
  weight_gradients_.multiply(*plans.weight_gradient, operands.weight, side_.stream());
  products_.multiply(*plans.input_gradient, operands.input, state_.stream());
  side_.join(state_.stream());
}

void Products::run(gpu::MatrixProducts& products, const gpu::ProductPlan& plan,
                   const gpu::ProductOperands& operands) {
  StepObserver* const observer = state_.options().observer;
  if (observer != nullptr) {
    observer->work_begins({.name = describe(plan), .operations = plan.shape().operations()});
  }
  products.multiply(plan, operands, state_.stream());
  if (observer != nullptr) observer->work_ends();
}

void Products::forward(Projection projection, int block, const void* input, void* output) {
  const Tensors& tensors = tensors_of(projection);
  run(products_, *blocks_[static_cast<std::size_t>(projection)].forward,
      {.left = input,
       .right = state_.operand(tensors.weight, block),
       .bias = state_.operand(tensors.bias, block),
       .result = output});
}

void Products::gradients(Projection projection, int block, const ProjectionGradients& places) {
  const Plans& plans = blocks_[static_cast<std::size_t>(projection)];
  const TensorKind weight = tensors_of(projection).weight;
  const GradientOperands operands{.weight = {.left = places.input,
                                             .right = places.output_gradient,
                                             .result = state_.gradient(weight, block)},
                                  .input = {.left = places.output_gradient,
                                            .right = state_.operand(weight, block),
                                            .result = places.input_gradient}};
  // What an observer is to see lies on one stream.
  if (plans.is_side_by_side && state_.options().observer == nullptr) {
    multiply_side_by_side(plans, operands);
    return;
  }
  run(weight_gradients_, *plans.weight_gradient, operands.weight);
  run(products_, *plans.input_gradient, operands.input);
}

void Products::logits(const void* input, void* logits) {
  run(products_, *head_.forward,
      {.left = input, .right = state_.operand(TensorKind::token_embedding), .result = logits});
}

void Products::logits_input_gradient(const void* gradient, void* input_gradient) {
  run(products_, *head_.input_gradient,
      {.left = gradient,
       .right = state_.operand(TensorKind::token_embedding),
       .result = input_gradient});
}

void Products::logits_weight_gradient(const void* input, const void* gradient) {
  run(products_, *head_.weight_gradient,
      {.left = gradient, .right = input, .result = state_.gradient(TensorKind::token_embedding)});
}

}  // namespace linkgain::on_gpu
