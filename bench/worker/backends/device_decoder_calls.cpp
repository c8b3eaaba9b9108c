#include <optional>
#include <string>
#include <utility>

#include "decoder_calls.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/product_norm.hpp"
#include "slot_pools.hpp"

namespace linkgain {
namespace {

gpu::ProductNormShape shape_of(const Case& c, const BufferPlan& plan) {
  return {c.tokens(), c.hidden, product_inner(c), plan.weights};
}

class InDecoder : public DeviceCall {
 public:
  InDecoder(const Case& c, const BufferPlan& plan, const NcclContext& context,
            std::unique_ptr<DeviceCall> call)
      : call_(std::move(call)), around_(shape_of(c, plan), *context.stream) {}

 private:
  void do_prepare() override { call_->prepare(); }
  void do_release() override { call_->release(); }
  bool do_takes_part() const override { return true; }

  void do_enqueue(std::int64_t slot) override {
    around_.multiply(call_->input(slot));
    call_->enqueue(slot);
    around_.normalise(call_->output(slot));
  }

  bool do_has_surroundings() const override { return true; }
  void do_enqueue_surroundings(std::int64_t slot) override {
    around_.multiply(call_->input(slot));
    around_.normalise(call_->output(slot));
  }

  void* do_output(std::int64_t slot) const override { return call_->output(slot); }

  /// Fills in what the timed turns start with, and later what is to be checked.
  void do_fill(const kernels::Pattern& pattern) override {
    if (is_filled_) around_.silence();
    is_filled_ = true;
    call_->fill(pattern);
  }

  std::string do_form() const override { return call_->form(); }
  std::optional<bool> do_through_host() const override { return call_->through_host(); }
  std::optional<TransferPlan> do_plan() const override { return call_->plan(); }

  std::unique_ptr<DeviceCall> call_;
  gpu::ProductNorm around_;
  bool is_filled_ = false;
};

class ProductNormCall : public DeviceCall {
 public:
  ProductNormCall(const Case& c, const BufferPlan& plan, const NcclContext& context)
      : context_(context),
        slots_(c, plan, context.rank),
        memory_(slots_.first_size()),
        work_(shape_of(c, plan), *context.stream) {
    slots_.set_memory(memory_.data(), memory_.data());
  }

 private:
  void do_prepare() override {}
  bool do_takes_part() const override { return true; }

  void do_enqueue(std::int64_t slot) override {
    work_.multiply(slots_.input(slot));
    work_.normalise(slots_.output(slot));
  }

  void* do_output(std::int64_t slot) const override { return slots_.output(slot); }
  void do_fill(const kernels::Pattern& pattern) override {
    if (is_filled_) work_.silence();
    is_filled_ = true;
    slots_.fill(pattern, *context_.stream);
  }

  std::string do_form() const override { return "cuBLASLt: " + work_.algorithm(); }
  std::optional<bool> do_through_host() const override { return std::nullopt; }
  std::optional<TransferPlan> do_plan() const override { return TransferPlan{}; }

  NcclContext context_;
  SlotPools slots_;  ///< inputs and outputs are the same memory
  gpu::DeviceBuffer memory_;
  gpu::ProductNorm work_;
  bool is_filled_ = false;
};

}  // namespace

std::unique_ptr<DeviceCall> put_in_decoder(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context,
                                           std::unique_ptr<DeviceCall> call) {
  return std::make_unique<InDecoder>(c, plan, context, std::move(call));
}

std::unique_ptr<DeviceCall> make_product_norm(const Case& c, const BufferPlan& plan,
                                              const NcclContext& context) {
  return std::make_unique<ProductNormCall>(c, plan, context);
}

}  // namespace linkgain
