#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/verify/pattern.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/operation.hpp"
#include "nccl/batch_timer.hpp"

namespace linkgain {

/// What a case launches on this rank's device, and the slots it works on. Constructing one is local
/// to the rank. All work goes into the context's stream, or comes before what finish() puts there.
class DeviceCall {
 public:
  virtual ~DeviceCall() = default;

  /// Does what of the set-up all ranks do together, before all that follows; every rank must call
  /// it. Throws an Error if this rank could not.
  void prepare() { do_prepare(); }
  /// Releases what other ranks have open: see Operation::release().
  void release() { do_release(); }
  /// Returns whether this rank's device does anything; its time counts then.
  bool takes_part() const { return do_takes_part(); }
  /// Puts one turn on a slot into the stream.
  void enqueue(std::int64_t slot) { do_enqueue(slot); }
  /// Has the stream wait for turns that went into streams of the call's own.
  void finish() { do_finish(); }
  /// Returns whether something stands around the operation in every turn, which is not to count.
  bool has_surroundings() const { return do_has_surroundings(); }
  /// Puts what stands around a turn into the stream, without the operation.
  void enqueue_surroundings(std::int64_t slot) { do_enqueue_surroundings(slot); }
  /// Returns the input; null if this rank has none. Only of calls that surroundings may be around.
  void* input(std::int64_t slot) const { return do_input(slot); }
  /// Returns the output; null if this rank has none.
  void* output(std::int64_t slot) const { return do_output(slot); }
  /// Puts this rank's known data into the slots' inputs, slot i that of i operations later, and
  /// poison everywhere else, also into what operations leave other ranks. No rank may be at work
  /// with it.
  void fill(const kernels::Pattern& pattern) { do_fill(pattern); }
  /// Checks by the call itself, once it is done, what the first turn after fill() has done, if that
  /// cannot be seen in the outputs' elements.
  std::optional<Verification> check(bool corrupt) { return do_check(corrupt); }
  /// Returns Execution::form, and sets Execution::through_host; no form if the rank takes no part.
  std::string form() const { return do_form(); }
  std::optional<bool> through_host() const { return do_through_host(); }
  /// Returns the plan if the call itself knows what it does; else the library's log must tell.
  std::optional<TransferPlan> plan() const { return do_plan(); }

 private:
  virtual void do_prepare() = 0;
  virtual void do_release() {}
  virtual bool do_takes_part() const = 0;
  virtual void do_enqueue(std::int64_t slot) = 0;
  virtual void do_finish() {}
  virtual bool do_has_surroundings() const { return false; }
  virtual void do_enqueue_surroundings(std::int64_t) {}
  virtual void* do_input(std::int64_t) const { return nullptr; }
  virtual void* do_output(std::int64_t slot) const = 0;
  virtual void do_fill(const kernels::Pattern& pattern) = 0;
  virtual std::optional<Verification> do_check(bool) { return std::nullopt; }
  virtual std::string do_form() const = 0;
  virtual std::optional<bool> do_through_host() const = 0;
  virtual std::optional<TransferPlan> do_plan() const = 0;
};

/// Makes one operation on this rank's device, launched call by call or as a captured graph.
std::unique_ptr<Operation> make_device_operation(const Case& c, const BufferPlan& plan,
                                                 const NcclContext& context,
                                                 std::unique_ptr<DeviceCall> call);

}  // namespace linkgain
