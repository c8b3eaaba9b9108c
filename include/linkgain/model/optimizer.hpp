#pragma once

#include <cstdint>

namespace linkgain {

/// AdamW of I. Loshchilov and F. Hutter (2019) with the defaults of transformers' Trainer: no
/// weight decay, gradients clipped to norm 1.
struct OptimizerSettings {
  double learning_rate = 5e-5;  ///< of the first step
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double largest_norm = 1.0;  ///< of the gradients of all ranks, averaged
};

/// What one step does to every parameter; computed once on the host.
struct OptimizerStep {
  double learning_rate = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double correction1 = 0.0;  ///< 1 - beta1^n in the n-th step: moments begin at 0
  double correction2 = 0.0;
  double epsilon = 0.0;
  double largest_norm = 0.0;
};

/// Returns the optimizer's settings for step `step` (from 0) of `steps`: the learning rate falls
/// linearly and would be 0 in the one after the last.
OptimizerStep optimizer_step(const OptimizerSettings& settings, std::int64_t step,
                             std::int64_t steps);

/// Returns what gradients are multiplied with so that their norm is not beyond `largest_norm`, as
/// PyTorch's clip_grad_norm_ does: largest / (norm + 1e-6), 1 at most.
double clip_factor(double squared_norm, double largest_norm);

}  // namespace linkgain
