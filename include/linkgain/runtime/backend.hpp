#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/common/wait_report.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/operation.hpp"
#include "linkgain/runtime/training_communication.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

/// Whose settings NCCL's communicator has: NCCL's own, as with frameworks, or nccl-tests'.
enum class CommunicatorSettings { usual, as_nccl_tests };

/// Copies between pinned host memory and this rank's device, for the rate that a path through the
/// host cannot exceed. Constructing one is local to the rank and may fail there, and so are its
/// calls: which ranks copy at a time is up to the caller.
class HostCopy {
 public:
  virtual ~HostCopy() = default;
  /// Returns the bytes that one copy moves.
  Bytes size() const { return do_size(); }
  /// Measures 1e9 B/s over `copies` back to back, at least one, after one more that is not timed.
  /// Return when they are done; throw an Error with what the device ended with.
  double to_device(int copies) { return do_to_device(copies); }
  double from_device(int copies) { return do_from_device(copies); }

 private:
  virtual Bytes do_size() const = 0;
  virtual double do_to_device(int copies) = 0;
  virtual double do_from_device(int copies) = 0;
};

/// What moves the bytes on this rank: device, communicator, and the operations it can open. Making
/// one is local to the rank; it is of use after connect().
class Backend {
 public:
  virtual ~Backend() = default;

  BackendKind kind() const { return do_kind(); }

  /// Returns the GPU of this rank, without its NVLink and PCIe members; absent where buffers are in
  /// CPU memory.
  std::optional<GpuInfo> gpu() const { return do_gpu(); }

  /// Joins the ranks; every rank must call it. Threads started here inherit the CPUs this rank is
  /// bound to.
  void connect() { do_connect(); }

  /// Opens buffers and plan of a case; local to the rank. `rotation` is plan_buffers()'s own choice
  /// where absent. Throws an Error where this rank cannot run it.
  std::unique_ptr<Operation> open(const Case& c, const std::optional<Rotation>& rotation = {}) {
    return do_open(c, rotation);
  }

  /// Opens how a training's ranks reach each other, which no operation may do while it goes on;
  /// every rank must call it. `model_stream` is the cudaStream_t of a model on this rank's GPU;
  /// null where the model computes on the CPU. Backend and stream must outlive it. Throws
  /// MachineError where this backend does not reach the model's memory.
  std::unique_ptr<TrainingCommunication> open_training_communication(void* model_stream) {
    return do_open_training_communication(model_stream);
  }

  /// Opens pinned memory for copies; null if buffers are in CPU memory. Throws an Error where
  /// pinned memory is short.
  std::unique_ptr<HostCopy> open_host_copy() { return do_open_host_copy(); }

  /// Keeps the device at work for about that long, which brings it from its idle to its working
  /// clock. Local to the rank; does nothing where there is no such device.
  void keep_busy(Seconds time) { do_keep_busy(time); }

  /// Fills in the versions that this backend knows.
  void describe(Software& software) const { do_describe(software); }

  /// Returns the library's function that has it read its log's settings from the environment again;
  /// null where there is none. It may be called while no call of the library is under way.
  LogSwitch log_switch() const { return do_log_switch(); }

  /// Returns the path of the messages where the backend itself can tell.
  std::optional<Path> path() const { return do_path(); }

  /// Bounds the waits within kernels on this rank's device. Valid while the backend lives; nothing
  /// where there is no such device.
  kernels::WaitBound wait_bound() const { return do_wait_bound(); }

  /// Throws MachineError where such a wait was in vain: what its kernel left is no result.
  void require_waits() const { do_require_waits(); }

  /// Returns what has failed of work under way, and would else be waited for in vain. From any
  /// thread while the backend lives.
  std::optional<std::string> failure() const { return do_failure(); }

  /// Ends work under way, for a process that is about to end. From any thread.
  void abort() noexcept { do_abort(); }

 private:
  virtual BackendKind do_kind() const = 0;
  virtual std::optional<GpuInfo> do_gpu() const = 0;
  virtual void do_connect() = 0;
  virtual std::unique_ptr<Operation> do_open(const Case& c,
                                             const std::optional<Rotation>& rotation) = 0;
  virtual std::unique_ptr<TrainingCommunication> do_open_training_communication(
      void* model_stream) = 0;
  virtual std::unique_ptr<HostCopy> do_open_host_copy() = 0;
  virtual void do_keep_busy(Seconds time) = 0;
  virtual void do_describe(Software& software) const = 0;
  virtual LogSwitch do_log_switch() const = 0;
  virtual std::optional<Path> do_path() const = 0;
  virtual kernels::WaitBound do_wait_bound() const { return {}; }
  virtual void do_require_waits() const {}
  virtual std::optional<std::string> do_failure() const { return std::nullopt; }
  virtual void do_abort() noexcept {}
};

}  // namespace linkgain
