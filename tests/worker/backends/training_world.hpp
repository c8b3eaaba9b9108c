#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "linkgain/runtime/training_communication.hpp"

namespace linkgain::test {

/// A backend's communication and memory of the kind that its models have.
class TrainingWorld {
 public:
  virtual ~TrainingWorld() = default;

  virtual TrainingCommunication& communication() = 0;
  virtual FlatMemory memory() = 0;
  /// All of the memory, as a model writes it: after what it has enqueued before.
  virtual void write(const std::vector<double>& values) = 0;
  /// All of the memory after what the model has enqueued; waits for it.
  virtual std::vector<double> read() = 0;
};

/// Collective; each program of tests has its own. `type` is float32 or float64.
std::unique_ptr<TrainingWorld> make_training_world(DataType type, std::int64_t count);

}  // namespace linkgain::test
