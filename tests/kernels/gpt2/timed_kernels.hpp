#pragma once

#include <vector>

#include "kernel_timing.hpp"

namespace linkgain::kernels {

/// Copies on the device, by the driver and by kernels::copy(): what bandwidth there is.
std::vector<TimedKernel> copy_kernels();

/// Copies on the device by the driver, reading and writing `bytes` in all, or a little more: what a
/// launch that moves as many bytes can reach.
TimedKernel copy_of(std::int64_t bytes);

/// Lists what a training step of GPT-2 124M with 4 samples of 1024 tokens launches with activations
/// of `type`, each at its largest size.
std::vector<TimedKernel> training_kernels(ElementType type);

}  // namespace linkgain::kernels
