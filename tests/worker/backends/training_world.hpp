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
  /// Writes all of the memory as a model does: after what it has enqueued before.
  virtual void write(const std::vector<double>& values) = 0;
  /// Waits for what the model has enqueued, and returns all of the memory.
  virtual std::vector<double> read() = 0;
};

/// Makes what this program of tests needs; collective. `type` is float32 or float64.
std::unique_ptr<TrainingWorld> make_training_world(DataType type, std::int64_t count);

}  // namespace linkgain::test
