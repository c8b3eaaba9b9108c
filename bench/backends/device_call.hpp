#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/pattern.hpp"
#include "linkgain/core/evidence.hpp"
#include "linkgain/core/units.hpp"

namespace linkgain {

/// What a case launches on this rank's device, and the slots it works on. Constructing one is local
/// to the rank. All work goes into the context's stream.
class DeviceCall {
 public:
  virtual ~DeviceCall() = default;

  /// Collective, before all that follows: what of the set-up all ranks do together. Throws an Error
  /// where this rank could not.
  void prepare() { do_prepare(); }
  /// Puts one turn on a slot into the stream.
  void enqueue(std::int64_t slot) const { do_enqueue(slot); }
  /// Null where this rank has none.
  void* output(std::int64_t slot) const { return do_output(slot); }
  Bytes output_size() const { return do_output_size(); }
  /// Puts this rank's known data, the same, into every slot's input and poison everywhere else.
  void fill(const kernels::Pattern& pattern) const { do_fill(pattern); }
  /// See Execution::form.
  std::string form() const { return do_form(); }
  /// Where the call itself knows what it does; else the library's log must tell.
  std::optional<TransferPlan> plan() const { return do_plan(); }

 private:
  virtual void do_prepare() = 0;
  virtual void do_enqueue(std::int64_t slot) const = 0;
  virtual void* do_output(std::int64_t slot) const = 0;
  virtual Bytes do_output_size() const = 0;
  virtual void do_fill(const kernels::Pattern& pattern) const = 0;
  virtual std::string do_form() const = 0;
  virtual std::optional<TransferPlan> do_plan() const = 0;
};

}  // namespace linkgain
