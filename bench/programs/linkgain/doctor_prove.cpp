#include "doctor_prove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

using State = RungResult::State;

/// That a job of a rung may take, from its start to its end.
constexpr Seconds kRungLimit{10.0};
constexpr std::size_t kLinesLookedAt = 50;

/// With P2P as far as the driver grants it, whatever the user's environment says, or without.
Environment environment_for(ProofRung rung) {
  if (rung != ProofRung::control) {
    return {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_NVLS_ENABLE", "0"}};
  }
  return parse_variant("host", {}).environment;
}

/// One rung between two GPUs: two ranks, from their start to their end.
class RungJob {
 public:
  /// `folder` is its own. Throws MachineError where it cannot be started.
  RungJob(ProofRung rung, const GpuPair& pair, const Survey& survey, std::filesystem::path folder)
      : rung_(rung), folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    LaunchRequest request;
    request.worker = worker_path();
    request.worker_arguments = {
        "--prove", std::string(name_of(rung)), "--gpus",
        fmt::format("{},{}", cuda_index(survey, pair.first), cuda_index(survey, pair.second))};
    request.variant_environment = environment_for(rung);
    request.variant_environment["NCCL_DEBUG"] = "INFO";
    request.variant_environment["NCCL_DEBUG_SUBSYS"] = "INIT,ENV";
    request.variant_environment["NCCL_DEBUG_FILE"] = (folder_ / "nccl.%h.%p").string();
    request.session_folder = folder_ / "session";
    request.as_root = ::geteuid() == 0;
    request.cores = usable_cores();
    process_ = std::make_unique<Process>(process_request(request, folder_ / "errors"));
  }

  /// Waits until it has ended or `limit` has passed. Throws Interrupted.
  RungResult result(const Deadline& limit, const SignalWatch& watch) {
    // A launcher may have words of its own before it.
    Reading<Delivery> delivery;
    ReadResult line{Transfer::done, {}};
    while (line.outcome == Transfer::done && !delivery.measured() && !limit.passed()) {
      line = process_->read_line(limit.remaining(), &watch);
      delivery = delivery_in(line.line);
    }
    const auto end = process_->wait(limit.remaining(), &watch);
    if (!end) {
      return {rung_, State::hung, fmt::format("no answer within {:.0f} s", kRungLimit.value)};
    }
    if (end->status != 0 || !delivery.measured()) return {rung_, State::failed, reason(*end)};
    const auto& [outcome, seen] = delivery.value();
    if (outcome == Delivery::Outcome::gave_up) return {rung_, State::hung, seen};
    if (outcome == Delivery::Outcome::not_arrived) return {rung_, State::not_delivered, seen};
    return on_its_path(seen);
  }

 private:
  static int cuda_index(const Survey& survey, int place) {
    return survey.topology.gpus[static_cast<std::size_t>(place)].cuda_index.value();
  }

  /// The worker's own words, else the last that anybody said.
  std::string reason(const ProcessEnd& end) const {
    constexpr std::string_view kWorker = "linkgain-bench: ";
    const std::vector<std::string> words = last_words(folder_ / "errors", 0, kLinesLookedAt);
    for (const std::string& line : words) {
      if (line.starts_with(kWorker)) return line.substr(kWorker.size());
    }
    return words.empty() ? describe(end) : words.back();
  }

  /// Whether NCCL's log shows the connections that the rung is about, and no others.
  RungResult on_its_path(const std::string& seen) const {
    const TransportLines lines = read_transport_logs(folder_, "nccl.");
    const bool other = lines.shm + lines.net + lines.other > 0;
    const bool wrong = rung_ == ProofRung::all_reduce
                           ? lines.p2p == 0 || other
                           : rung_ == ProofRung::control && lines.p2p > 0;
    if (!wrong) return {rung_, State::passed, seen};
    const std::string kinds = lines.kinds.empty() ? "no connection that its log names"
                                                  : fmt::format("{}", fmt::join(lines.kinds, ", "));
    return {rung_, State::other_path, "went by " + kinds};
  }

  ProofRung rung_;
  std::filesystem::path folder_;
  std::unique_ptr<Process> process_;
};

/// Why there can be no jobs; empty where there can.
std::string obstacle(const Survey& survey) {
  if (survey.topology.gpus.size() < 2) {
    return fmt::format("no proof: {}, and so no pair to send data between",
                       survey.topology.gpus.empty() ? "there is no GPU" : "there is one GPU");
  }
  const SoftwareSurvey& software = survey.software;
  if (!software.worker.measured()) return "no proof: " + software.worker.reason();
  const Software& worker = software.worker.value();
  if (worker.nccl_missing) return "no proof: " + *worker.nccl_missing;
  if (!worker.nccl_library) return "no proof: linkgain-bench was built without CUDA and NCCL";
  if (!software.mpirun.measured()) return "no proof: " + software.mpirun.reason();
  return {};
}

}  // namespace

void survey_delivery(Survey& survey, const SignalWatch& watch) {
  survey.proof_failure = obstacle(survey);
  if (!survey.proof_failure.empty()) return;
  const TemporaryFolder folder;
  int jobs_started = 0;
  const auto run = [&](ProofRung rung, const std::vector<GpuPair>& pairs) {
    const Deadline limit(kRungLimit);
    std::vector<std::unique_ptr<RungJob>> jobs;
    for (const GpuPair& pair : pairs) {
      const auto own = folder.path() / fmt::to_string(jobs_started++);
      jobs.push_back(std::make_unique<RungJob>(rung, pair, survey, own));
    }
    std::vector<RungResult> results;
    for (const auto& job : jobs) results.push_back(job->result(limit, watch));
    return results;
  };
  try {
    survey.proofs = prove_delivery(survey.topology, run);
  } catch (const MachineError& error) {
    survey.proof_failure = fmt::format("no proof: {}", error.what());
  }
}

}  // namespace linkgain
