#include "linkgain/analysis/program_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/analysis/program_path.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/nccl_log.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

namespace linkgain {
namespace {

constexpr double kSameShare = 0.01;
constexpr double kLargestDeviation = 0.5;

double largest_deviation(const ArmEvidence& arm, double middle) {
  double largest = 0.0;
  for (const double bytes : nvlink_bytes_of(arm.runs, SharedGpus::count)) {
    largest = std::max(largest, std::abs(bytes - middle));
  }
  return largest;
}

bool moved_the_same(const ArmEvidence& a, double bytes_a, const ArmEvidence& b, double bytes_b) {
  const double larger = std::max(bytes_a, bytes_b);
  const double deviation =
      std::min(std::max(largest_deviation(a, bytes_a), largest_deviation(b, bytes_b)),
               kLargestDeviation * larger);
  return std::abs(bytes_a - bytes_b) <= std::max(deviation, kSameShare * larger);
}

/// Says why NVLink traffic of an arm is not known; empty where all of it is.
std::string why_unseen(const ArmEvidence& arm) {
  for (const RunEvidence& run : arm.runs) {
    if (!run.no_gpus.empty()) return run.no_gpus;
    for (const GpuEvidence& gpu : judged_gpus(arm.runs, run)) {
      if (!gpu.traffic.nvlink_sent) return fmt::format("GPU {}: {}", gpu.gpu, gpu.nvlink_reason);
    }
  }
  return nvlink_bytes_in_a_run(arm.runs) ? "" : "no GPU was seen";
}

std::string connections_text(const ArmEvidence& arm) {
  return readable_connections(connections_of(arm.runs));
}

bool is_use(double bytes) { return bytes > static_cast<double>(kNvlinkFloor); }

/// Tells whether NCCL's log says which path an arm took, as far as it matters.
bool is_known_by_log(const ArmEvidence& arm) {
  return arm.path != Path::unknown && arm.path != Path::nvlink && arm.path != Path::p2p &&
         arm.path != Path::engine && !is_use(nvlink_bytes_in_a_run(arm.runs).value_or(0.0));
}

/// Gives the first reason that a run has why a log was not read; empty where none has.
std::string first_reason(const ArmEvidence& arm, std::string RunEvidence::*reason) {
  const auto unread = std::ranges::find_if_not(arm.runs, &std::string::empty, reason);
  return unread == arm.runs.end() ? "" : (*unread).*reason;
}

/// Says why NCCL's log was read of no run; empty where it was.
std::string why_no_log(const std::vector<ArmEvidence>& arms) {
  std::string why;
  for (const ArmEvidence& arm : arms) {
    if (why.empty()) why = first_reason(arm, &RunEvidence::connections_reason);
  }
  return why;
}

std::string no_log_text(const std::string& reason) {
  return fmt::format("NCCL's log, which would say which path the data took, was not read: {}",
                     reason);
}

/// Says "2 GB went over NVLink in a run" where all did, else "up to 2 GB went over NVLink in 2 of 6
/// runs".
std::string use_text(const std::vector<double>& used, std::size_t runs) {
  const std::string most = readable_traffic(std::ranges::max(used));
  if (used.size() == runs) return most + " went over NVLink in a run";
  return fmt::format("up to {} went over NVLink in {} of {} runs", most, used.size(), runs);
}

/// Says how much that is of what an arm with P2P moved, and what moved it, as far as that is known.
std::string share_text(const ArmEvidence& arm, double bytes, double most) {
  if (bytes < kAllOfTraffic * most) {
    return fmt::format(", of {} with P2P: part of the traffic does not obey it",
                       readable_traffic(most));
  }
  const std::set<std::string> said = engines_of(arm.runs);
  const std::string engine = said.empty() ? "" : fmt::format(" ({})", fmt::join(said, "; "));
  if (connections_of(arm.runs).empty()) return engine;
  const std::string log = fmt::format("; NCCL's log says {}", connections_text(arm));
  if (logs_p2p(arm)) return log + engine;
  return fmt::format(
      "{}: the program's own kernels or copies moved it{}{}", log,
      reaches_nccl_alone(arm.forbidding) ? ", which no variable of NCCL's reaches" : "", engine);
}

/// Says what the library of no-p2p refused to an arm; empty where none is to keep it from P2P.
std::string refused_text(const ArmEvidence& arm) {
  if (reaches_nccl_alone(arm.forbidding)) return {};
  std::set<std::string> refused;
  for (const RunEvidence& run : arm.runs) refused.insert(run.refused.begin(), run.refused.end());
  if (!refused.empty()) return fmt::format("; the library refused {}", fmt::join(refused, ", "));
  const std::string unread = first_reason(arm, &RunEvidence::refused_reason);
  return unread.empty() ? "; the library refused nothing"
                        : fmt::format("; the library's log was not read: {}", unread);
}

/// Judges an arm without P2P, beside the most that one with it moved. One run is enough: a median
/// would hide that fewer than half of them took NVLink; and so is one connection by P2P.
void judge_forbidden(const ArmEvidence& arm, double most, std::vector<Warning>& warnings) {
  const auto wrong_runs = [&](SharedGpus shared) {
    std::vector<double> runs = nvlink_bytes_of(arm.runs, shared);
    std::erase_if(runs, [&](double bytes) { return !is_use(bytes) || bytes <= kNoNvlink * most; });
    return runs;
  };
  const std::vector<double> own = wrong_runs(SharedGpus::leave_out);
  const std::vector<double> all = wrong_runs(SharedGpus::count);
  if (!own.empty()) {
    warnings.push_back({name_of(WarningCode::exec_path),
                        fmt::format("{}: {} is set, and yet {}{}{}{}", arm.variant, arm.forbidding,
                                    use_text(own, arm.runs.size()),
                                    share_text(arm, std::ranges::max(own), most), refused_text(arm),
                                    used_gpus(arm.runs).empty()
                                        ? "; others may have moved it: the driver did not show "
                                          "on which GPUs the command ran"
                                        : ""),
                        what_bypasses(arm.forbidding)});
  } else if (logs_p2p(arm) && has_p2p(arm.path)) {
    warnings.push_back({name_of(WarningCode::exec_path),
                        fmt::format("{}: {} is set, and yet NCCL's log says {}", arm.variant,
                                    arm.forbidding, connections_text(arm)),
                        what_bypasses(arm.forbidding)});
  } else if (!all.empty()) {
    warnings.push_back(
        {name_of(WarningCode::exec_neighbours),
         fmt::format("{}: {} is set, but {}, on GPUs that others used, too: it is not known who "
                     "moved it",
                     arm.variant, arm.forbidding, use_text(all, arm.runs.size())),
         kNeighbourAdvice});
  }
}

/// Says what lets the arm's engine take another path, or none: llama.cpp's own all-reduce copies to
/// pinned host memory and back, whatever its variables say (ggml/src/ggml-cuda/allreduce.cu).
std::string advice_for_engine(const ArmEvidence& arm) {
  const std::set<std::string> said = engines_of(arm.runs);
  const auto says = [&](std::string_view words) {
    return std::ranges::any_of(
        said, [words](const std::string& each) { return each.find(words) != each.npos; });
  };
  if (!says("llama.cpp: ")) {
    return fmt::format(
        "give the engine its own switch, as by --args "
        "{}:--disable-custom-all-reduce, or compare with --variant no-p2p",
        arm.variant);
  }
  if (engine_choice(arm.runs) == EngineChoice::copies) {
    return "llama.cpp's copies take P2P where GGML_CUDA_P2P is set: set it in one variant alone";
  }
  const std::string_view let_nccl_sum =
      says("NCCL did not start") ? "see in its log why NCCL did not start"
      : says("several devices")  ? "NCCL needs a GPU for each device"
                                 : "build llama.cpp with NCCL (-DGGML_CUDA_NCCL=ON)";
  if (engine_choice(arm.runs) == EngineChoice::no_nccl) return std::string(let_nccl_sum);
  return fmt::format("llama.cpp's own all-reduce goes through host memory with every variant: {}",
                     let_nccl_sum);
}

/// Tells whether NCCL alone moves the data of an arm, and went without P2P because NVML's status
/// was refused: it asks for nothing else then.
bool is_nccl_refused(const ArmEvidence& arm) {
  return is_without_p2p(arm.path) && std::ranges::all_of(arm.runs, [](const RunEvidence& run) {
           return std::ranges::count(run.refused, "nvmlDeviceGetP2PStatus") > 0;
         });
}

/// Judges whether what takes P2P from an arm reaches who moves its data. Bytes over NVLink would
/// have told, and where another arm moved some they tell that it does.
void judge_reach(const ArmEvidence& arm, const std::vector<ArmEvidence>& arms,
                 std::vector<Warning>& warnings) {
  if (!arm.p2p_off() || arm.runs.empty() || arm.path == Path::nvlink || arm.path == Path::mixed ||
      is_use(nvlink_bytes_in_a_run(arm.runs).value_or(0.0)) ||
      std::ranges::any_of(arms, [&](const ArmEvidence& with) {
        return !with.p2p_off() && is_nvlink_parted(with.runs, arm.runs);
      })) {
    return;
  }
  const std::string variable = arm.forbidding.substr(0, arm.forbidding.find('='));
  if (!reaches_nccl_alone(arm.forbidding)) {
    if (is_peer_access_refused(arm.runs) || is_nccl_refused(arm)) return;
    const std::string unread = first_reason(arm, &RunEvidence::refused_reason);
    const std::string what =
        unread.empty()
            ? "no-p2p's library refused no peer access: the program asked for none, or got past it"
            : fmt::format(
                  "it is not known whether no-p2p's library refused peer access, as its "
                  "log ({}) was not read: {}",
                  kRefusalLog, unread);
    warnings.push_back({name_of(WarningCode::exec_no_change),
                        fmt::format("{}: {}", arm.variant, what), what_bypasses(arm.forbidding)});
  } else if (const EngineChoice choice = engine_choice(arm.runs);
             choice == EngineChoice::host_memory ||
             (bypasses_nccl(choice) && !is_without_p2p(arm.path))) {
    warnings.push_back(
        {name_of(WarningCode::exec_no_change),
         fmt::format("{}: {} reaches NCCL alone, and not what moves the engine's data ({})",
                     arm.variant, variable, fmt::join(engines_of(arm.runs), "; ")),
         advice_for_engine(arm)});
  }
}

/// Says why nothing of an arm with P2P went over NVLink, as far as that is known.
std::string why_unused(const ArmEvidence& arm) {
  if (std::ranges::all_of(arm.runs, [](const auto& run) { return run.gpus.size() == 1; })) {
    return "it saw one GPU, which has no peer";
  }
  const bool is_some = nvlink_bytes_in_a_run(arm.runs).value_or(0.0) > 0.0;
  const std::string_view use = is_some ? "that is too little to tell whether its data take it"
                                       : "the program does not use it";
  if (!arm.is_joined) return fmt::format("no NVLink joins its GPUs, or {}", use);
  return *arm.is_joined ? fmt::format("NVLink joins its GPUs, and {}", use)
                        : "no NVLink joins its GPUs";
}

/// Says whether the driver allows P2P, before what then carried the data.
std::string_view permission_text(const ArmEvidence& arm) {
  return arm.is_refused ? "the driver allows P2P between none of these GPUs, and"
                        : "P2P is allowed, but";
}

/// Says "host memory", "several paths": what NCCL took by its log.
std::string_view taken_text(const ArmEvidence& arm) {
  const Path path = path_of(lines_of(connections_of(arm.runs)), arm.is_joined);
  if (path == Path::network) return "the network";
  return path == Path::mixed ? "several paths" : readable_path(path);
}

/// Judges an arm that has P2P, by NCCL's log where that says what counters of NVLink do not.
void judge_allowed(const ArmEvidence& arm, std::vector<Warning>& warnings) {
  const std::optional<double> bytes = nvlink_bytes_in_a_run(arm.runs);
  std::vector<double> used = nvlink_bytes_of(arm.runs, SharedGpus::count);
  const std::size_t counted = used.size();
  std::erase_if(used, [](double each) { return !is_use(each); });
  const std::vector<std::string> kinds = lines_of(connections_of(arm.runs)).kinds;
  const auto is_shm = [](const std::string& kind) { return kind.starts_with("SHM"); };
  if (!used.empty() && used.size() < counted) {
    warnings.push_back(warning_of(
        WarningCode::exec_no_nvlink,
        fmt::format("{}: {} {}", arm.variant, permission_text(arm), use_text(used, counted))));
  } else if (!used.empty() && logs_p2p(arm) && std::ranges::none_of(kinds, is_shm)) {
    return;  // nodes that the network joins
  } else if (arm.path == Path::mixed || is_known_by_log(arm)) {
    if (arm.path == Path::pcie_p2p) return;
    const std::string log = connections_text(arm);
    warnings.push_back(warning_of(
        WarningCode::exec_no_nvlink,
        fmt::format("{}: {} {}", arm.variant, permission_text(arm),
                    log.empty() ? fmt::format("the data go through host memory ({})",
                                              fmt::join(engines_of(arm.runs), "; "))
                                : fmt::format("NCCL took {} ({})", taken_text(arm), log))));
  } else if (bytes && !is_use(*bytes) && why_unseen(arm).empty()) {
    warnings.push_back(warning_of(
        WarningCode::exec_no_nvlink,
        fmt::format("{}: {} {} went over NVLink in a run{}", arm.variant, permission_text(arm),
                    *bytes > 0.0 ? "only " + readable_traffic(*bytes) : "nothing",
                    arm.is_refused ? "" : ": " + why_unused(arm))));
  }
}

void judge_path(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  double most = 0.0;  // that an arm with P2P moved
  for (const ArmEvidence& arm : arms) {
    if (!arm.p2p_off()) most = std::max(most, nvlink_bytes_in_a_run(arm.runs).value_or(0.0));
  }
  for (const ArmEvidence& arm : arms) {
    if (arm.p2p_off()) {
      judge_forbidden(arm, most, warnings);
    } else {
      judge_allowed(arm, warnings);
    }
  }
}

/// Warns of arms that moved the same over NVLink; nothing where that is as it should be.
std::optional<Warning> same_bytes_warning(const ArmEvidence& first, const ArmEvidence& other,
                                          const std::string& seen) {
  if (first.p2p_off() != other.p2p_off()) {
    // Where some runs took another path, it changed those: exec-path says how many it left.
    const ArmEvidence& off = first.p2p_off() ? first : other;
    if (!is_use(std::ranges::min(nvlink_bytes_of(off.runs, SharedGpus::count))))
      return std::nullopt;
    return warning_of(WarningCode::exec_no_change, seen + ": the variant did not change that");
  }
  // Algorithms move the same, too: without a difference in time it is worth a word.
  if (first.p2p_off() || !other.is_like_first) return std::nullopt;
  return warning_of(
      WarningCode::exec_same_bytes,
      seen + ", and no metric is shown to differ: the switch may be a no-op for this program");
}

void judge_change(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  for (std::size_t i = 1; i < arms.size(); ++i) {
    const Path path = arms[i].path;
    if (arms[i].p2p_off() != arms.front().p2p_off() && is_without_p2p(path) &&
        arms.front().path == path && !connections_of(arms[i].runs).empty()) {
      warnings.push_back(
          {name_of(WarningCode::exec_no_change),
           fmt::format("{} and {} both took {} by NCCL's log ({}): the variant changed nothing",
                       arms.front().variant, arms[i].variant, taken_text(arms[i]),
                       connections_text(arms[i])),
           "`linkgain topo` says why NCCL takes no P2P; where the driver allows it, --variant host "
           "--variant p2p-sys measures it across CPUs, too"});
      continue;
    }
    const std::optional<double> first = nvlink_bytes_in_a_run(arms.front().runs);
    const std::optional<double> other = nvlink_bytes_in_a_run(arms[i].runs);
    if (!first || !other) continue;
    // Without NVLink the counters do not tell P2P over PCIe from host memory.
    if (!is_use(std::min(*first, *other))) continue;
    if (!moved_the_same(arms.front(), *first, arms[i], *other)) continue;
    const std::string seen = fmt::format("{} and {} moved the same over NVLink, {} and {} in a run",
                                         arms.front().variant, arms[i].variant,
                                         readable_traffic(*first), readable_traffic(*other));
    if (auto warning = same_bytes_warning(arms.front(), arms[i], seen)) {
      warnings.push_back(*std::move(warning));
    }
  }
}

}  // namespace

bool logs_p2p(const ArmEvidence& arm) {
  return std::ranges::any_of(connections_of(arm.runs), is_by_p2p);
}

void judge_unseen(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  std::map<std::pair<bool, std::string>, std::vector<std::string>> unseen;
  for (const ArmEvidence& arm : arms) {
    const std::string reason = why_unseen(arm);
    const bool in_part = nvlink_bytes_in_a_run(arm.runs).has_value();
    if (arm.runs.empty() || reason.empty() || (is_known_by_log(arm) && !in_part)) continue;
    unseen[{in_part, reason}].push_back(arm.variant);
  }
  const std::string no_log = why_no_log(arms);
  for (const auto& [why, variants] : unseen) {
    const auto& [in_part, reason] = why;
    warnings.push_back(
        {name_of(WarningCode::exec_unseen),
         fmt::format("{}: NVLink traffic was not measured{} ({}){}", fmt::join(variants, ", "),
                     in_part ? " on some GPUs" : "", reason,
                     in_part || no_log.empty() ? "" : ", and " + no_log_text(no_log)),
         in_part ? "only the other GPUs are judged: `linkgain topo` says what the driver shows"
                 : "nothing proves over which link the data went: `linkgain topo` says what the "
                   "driver shows"});
  }
  // Counters that stand still where no NVLink joins the GPUs say nothing of P2P over PCIe.
  std::vector<std::string> silent;
  for (const ArmEvidence& arm : arms) {
    const bool is_counted = nvlink_bytes_in_a_run(arm.runs).has_value();
    if (is_counted && arm.path == Path::unknown && arm.is_joined == false) {
      silent.push_back(arm.variant);
    }
  }
  if (silent.empty() || no_log.empty()) return;
  warnings.push_back({name_of(WarningCode::exec_unseen),
                      fmt::format("{}: no NVLink joins the GPUs, and {}", fmt::join(silent, ", "),
                                  no_log_text(no_log)),
                      "nothing proves which path the data took"});
}

void judge_program_paths(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  judge_path(arms, warnings);
  for (const ArmEvidence& arm : arms) judge_reach(arm, arms, warnings);
  judge_change(arms, warnings);
}

}  // namespace linkgain
