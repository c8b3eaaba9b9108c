#include "peer/memory_copy.hpp"

#include <fmt/format.h>

#include <vector>

namespace linkgain {
namespace {

std::optional<Transfer> executed_by(const Case& c, int rank) {
  for (const Transfer& transfer : transfers_of(c)) {
    if (executor_of(c, transfer) == rank) return transfer;
  }
  return std::nullopt;
}

}  // namespace

MemoryCopy::MemoryCopy(const Case& c, const BufferPlan& plan, const NcclContext& context,
                       Session& session)
    : definition_(c),
      context_(context),
      own_(executed_by(c, context.rank)),
      pools_(c, plan, context, session, Bytes{1}, false),
      worker_(c.kernel) {}

void* MemoryCopy::target(std::int64_t slot) const {
  return static_cast<char*>(pools_.output(own_->to, slot)) + own_->offset.value;
}

const void* MemoryCopy::source(std::int64_t slot) const { return pools_.input(own_->from, slot); }

/// The trials write into outputs, which hold nothing yet.
void MemoryCopy::do_prepare() {
  pools_.join();
  if (own_) worker_.tune(target(0), source(0), definition_.size, *context_.stream);
}

void MemoryCopy::do_enqueue(std::int64_t slot) {
  if (own_) worker_.copy(target(slot), source(slot), definition_.size, *context_.stream);
}

std::string MemoryCopy::do_form() const {
  if (!own_) return {};
  return fmt::format("{}, {}", worker_.form(), pools_.memory().road());
}

std::optional<TransferPlan> MemoryCopy::do_plan() const {
  const bool pulls = executor_of(definition_, {0, 1, {}}) == 1;
  return TransferPlan{pulls ? "PULL" : "PUSH", std::string(kSimple)};
}

}  // namespace linkgain
