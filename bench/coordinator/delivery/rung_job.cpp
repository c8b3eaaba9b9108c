#include "linkgain/delivery/rung_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstddef>
#include <exception>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {
namespace {

using State = RungResult::State;

/// That a job of a rung may take until its GPUs are ready, and from there to its end.
constexpr Seconds kRungLimit{10.0};
/// For what a job wrote while others were waited for.
constexpr Seconds kLateLimit{0.1};
constexpr std::size_t kLinesLookedAt = 50;

/// Returns an environment with P2P as far as the driver grants it, whatever the user's environment
/// says, or without.
Environment environment_for(ProofRung rung) {
  if (rung == ProofRung::control) return parse_variant("host", {}).environment;
  Environment environment{
      {"NCCL_P2P_DISABLE", "0"}, {"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_NVLS_ENABLE", "0"}};
  if (rung == ProofRung::all_reduce) environment["NCCL_RUN_DIAGNOSTICS"] = "1";
  return environment;
}

LaunchRequest request_for(ProofRung rung, int first, int second, Seconds load_time,
                          const NcclLogFiles& logs) {
  LaunchRequest request;
  request.launcher = "local";
  request.worker = worker_path();
  request.worker_arguments = {"--prove", std::string(name_of(rung)), "--gpus",
                              fmt::format("{},{}", first, second)};
  if (rung == ProofRung::load) {
    request.worker_arguments.insert(request.worker_arguments.end(),
                                    {"--load", fmt::format("{}s", load_time.value)});
  }
  request.variant_environment = environment_for(rung);
  request.variant_environment.merge(log_variables(logs));
  return request;
}

}  // namespace

RungJob::RungJob(ProofRung rung, int first, int second, Seconds load_time,
                 std::filesystem::path folder)
    : rung_(rung),
      folder_(std::move(folder)),
      limit_(kRungLimit),
      deadline_(kRungLimit),
      nccl_logs_{folder_, "nccl.", (folder_ / "nccl.%h.%p").string()} {
  if (rung == ProofRung::load) limit_.value += load_time.value;
  try {
    std::filesystem::create_directory(folder_);
    process_ = std::make_unique<Process>(process_request(
        request_for(rung, first, second, load_time, nccl_logs_), folder_ / "errors"));
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void RungJob::wait_for_begin(const SignalWatch& watch) {
  while (!has_begun_ && !delivery_.measured() && reads_line(watch)) {
  }
  if (has_begun_) deadline_ = Deadline(limit_);
}

RungResult RungJob::result(const SignalWatch& watch) {
  if (!process_) return {rung_, State::failed, failure_};
  if (deadline_.remaining().value < kLateLimit.value) deadline_ = Deadline(kLateLimit);
  while (!delivery_.measured() && reads_line(watch)) {
  }
  RungResult result = judge(process_->wait(deadline_.remaining(), &watch));
  if (delivery_.measured()) result.seconds = delivery_.value().seconds;
  result.nccl_says = nccls_diagnosis();
  return result;
}

/// Reads a line before the deadline; false where there is none. A launcher may have words of its
/// own, and NCCL.
bool RungJob::reads_line(const SignalWatch& watch) {
  if (!process_ || deadline_.passed()) return false;
  const ReadResult line = process_->read_line(deadline_.remaining(), &watch);
  if (line.line == kBegunLine) has_begun_ = true;
  delivery_ = delivery_in(line.line);
  said_ += line.line + "\n";
  return line.outcome == Transfer::done;
}

/// Says what came of the rung; `end` is absent where the job had to be ended. What the worker saw
/// of the data counts however it ended, and its own limit as this program's.
RungResult RungJob::judge(const std::optional<ProcessEnd>& end) const {
  using Outcome = Delivery::Outcome;
  const Outcome outcome = delivery_.measured() ? delivery_.value().outcome : Outcome::arrived;
  if (outcome == Outcome::gave_up) return {rung_, State::hung, delivery_.value().seen};
  if (outcome == Outcome::not_arrived) return {rung_, State::not_delivered, delivery_.value().seen};
  if (!end || end->signal_number == SIGALRM || end->status == kSignalExitBase + SIGALRM) {
    if (delivery_.measured()) return {rung_, State::failed, "data arrived, and it did not end"};
    if (has_begun_)
      return {rung_, State::hung, fmt::format("no answer within {:.0f} s", limit_.value)};
    return {rung_, State::failed,
            fmt::format("the GPUs were not ready within {:.0f} s", kRungLimit.value)};
  }
  if (end->status != 0 || !delivery_.measured()) return {rung_, State::failed, reason(*end)};
  return on_its_path(delivery_.value().seen);
}

/// Passes the rung where NCCL's log shows the connections that it is about, and no others.
RungResult RungJob::on_its_path(const std::string& seen) const {
  const TransportLines lines = read_transport_logs(nccl_logs_);
  const bool other = lines.shm + lines.net + lines.other > 0;
  const bool wrong = rung_ == ProofRung::all_reduce ? lines.p2p == 0 || other
                                                    : rung_ == ProofRung::control && lines.p2p > 0;
  if (!wrong) return {rung_, State::passed, seen};
  const std::string kinds = lines.kinds.empty() ? "no connection that its log names"
                                                : fmt::format("{}", fmt::join(lines.kinds, ", "));
  return {rung_, State::other_path, "went by " + kinds};
}

/// Returns the worker's own words, else the signal that ended it, else the last that anybody said.
std::string RungJob::reason(const ProcessEnd& end) const {
  constexpr std::string_view kWorker = "linkgain-bench: ";
  const std::vector<std::string> words = last_words(folder_ / "errors", 0, kLinesLookedAt);
  for (const std::string& line : words) {
    if (line.starts_with(kWorker)) return line.substr(kWorker.size());
  }
  return words.empty() || end.signal_number ? how_it_ended(end) : words.back();
}

/// Reads what NCCL from 2.31 on says of P2P where it is asked to diagnose it; empty of others.
std::vector<std::string> RungJob::nccls_diagnosis() const {
  std::vector<std::string> texts = read_log_files(folder_, "nccl.");
  texts.push_back(said_);
  texts.push_back(read_regular_file(folder_ / "errors").value_or(""));
  std::set<std::string> lines;
  for (const std::string& text : texts) {
    for (const std::string& line : parse_diagnosis_lines(text)) lines.insert(line);
  }
  return {lines.begin(), lines.end()};
}

}  // namespace linkgain
