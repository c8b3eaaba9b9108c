#include "linkgain/workloads/collective_sweep.hpp"

#include <algorithm>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/operation.hpp"

namespace linkgain {
namespace {

/// Takes the reply of the expected kind; an error reply is thrown.
template <typename ReplyType>
ReplyType expect(protocol::Reply reply) {
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) {
    throw MachineError(error->text, error->advice);
  }
  return std::get<ReplyType>(std::move(reply));
}

/// The case that is open on the ranks now; opening another closes it.
class OpenCase {
 public:
  OpenCase(Engine& engine, Seconds sample_target)
      : engine_(engine), sample_target_(sample_target) {}

  const protocol::OpenReply& require(const std::string& name) {
    if (name != name_) {
      close();
      reply_ = expect<protocol::OpenReply>(engine_.lead(protocol::Open{name, sample_target_}));
      name_ = name;
    }
    return reply_;
  }

  void close() {
    if (!name_.empty()) engine_.lead(protocol::Close{reply_.handle});
    name_.clear();
  }

  Engine& engine() { return engine_; }

 private:
  Engine& engine_;
  Seconds sample_target_;
  std::string name_;
  protocol::OpenReply reply_;
};

class CaseSubject : public BenchmarkSubject {
 public:
  CaseSubject(std::shared_ptr<OpenCase> open, const Case& definition)
      : open_(std::move(open)), definition_(definition), name_(case_name(definition)) {}

 private:
  std::string do_name() const override { return name_; }

  std::int64_t do_batch() override { return open_->require(name_).execution.operations_per_sample; }

  Seconds do_run_batch() override {
    const protocol::OpenReply& opened = open_->require(name_);
    const std::int64_t operations = opened.execution.operations_per_sample;
    const auto reply =
        expect<protocol::RunReply>(open_->engine().lead(protocol::Run{opened.handle, operations}));
    Sample sample;
    sample.times = reply.times;
    return Seconds{sample.time().value * static_cast<double>(operations)};
  }

  std::optional<std::string> do_verify() override {
    const auto reply = expect<protocol::VerifyReply>(
        open_->engine().lead(protocol::Verify{open_->require(name_).handle}));
    if (reply.verification.wrong == 0) return std::nullopt;
    return "WRONG DATA: " + describe_wrong(definition_, reply.verification);
  }

  std::vector<std::pair<std::string, double>> do_counters(Seconds per_operation) const override {
    return sweep_counters(definition_, per_operation);
  }

  std::shared_ptr<OpenCase> open_;
  Case definition_;
  std::string name_;
};

}  // namespace

std::vector<std::pair<std::string, double>> sweep_counters(const Case& definition,
                                                           Seconds per_operation) {
  std::vector<std::pair<std::string, double>> counters;
  if (moves_its_size(definition.operation)) {
    counters = {{"algbw", algorithm_bandwidth(definition, per_operation)},
                {"busbw", bus_bandwidth(definition, per_operation)}};
  }
  counters.emplace_back("latency_us", per_operation.value * 1e6);
  return counters;
}

std::vector<std::unique_ptr<BenchmarkSubject>> collective_sweep(Engine& engine,
                                                                const std::vector<Case>& cases,
                                                                Seconds sample_target) {
  const auto open = std::make_shared<OpenCase>(engine, sample_target);
  std::vector<std::unique_ptr<BenchmarkSubject>> subjects;
  for (const Case& c : cases) subjects.push_back(std::make_unique<CaseSubject>(open, c));
  return subjects;
}

}  // namespace linkgain
