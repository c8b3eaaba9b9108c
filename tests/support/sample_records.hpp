#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkgain/record/record.hpp"
#include "record_parts.hpp"

/// Records as a run would leave them, for tests of reports. Times of two H200 are those measured.
namespace linkgain::test {

inline Verification checked(std::int64_t elements, std::int64_t wrong, std::string first_wrong) {
  Verification verification;
  verification.checked = elements;
  verification.wrong = wrong;
  verification.first_wrong = std::move(first_wrong);
  return verification;
}

inline VariantResult measured(const Case& definition, std::string variant, double seconds,
                              Path path) {
  VariantResult result = timed_variant(definition, std::move(variant), seconds, path);
  result.verification = checked(2 * definition.elements(), 0, {});
  return result;
}

inline VariantResult skipped(std::string variant, std::string reason) {
  VariantResult result;
  result.variant = std::move(variant);
  result.skipped = Skip{.refusal = std::move(reason)};
  return result;
}

inline RatioResult ratio(std::string variant, double estimate, double low, double high) {
  return {std::move(variant),
          {.value = estimate, .interval = Interval{low, high}, .replicates = 6}};
}

inline CaseResult converged(Case definition, std::vector<VariantResult> variants,
                            std::vector<RatioResult> ratios) {
  return {std::move(definition), std::move(variants), std::move(ratios), true,
          StopReason::converged};
}

inline Environment without_p2p() { return {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_P2P_DISABLE", "1"}}; }

inline RankInfo h200(int rank) {
  GpuInfo gpu = h200_gpu(rank);
  gpu.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(rank);
  gpu.pci_bus_id = "00000000:0" + std::to_string(6 + rank) + ":00.0";
  gpu.memory_bytes = 150754820096;
  return rank_with(gpu, rank, "node1");
}

/// Makes a record of two GPUs, `p2p` against `host`, with no cases yet.
inline Record two_gpus() {
  Record record = finished_run("node1", 32, "Open MPI 4.1.4");
  record.wall_seconds = 14.25;
  record.machine.ranks = {h200(0), h200(1)};
  record.machine.links = {{.from = 0, .to = 1, .p2p = true, .nvlink = true}};
  record.settings = p2p_against_host(without_p2p());
  record.settings.argv = {"linkgain", "run", "--variant", "p2p", "--out", "my results"};
  record.settings.profile = "quick";
  for (Environment& variables : record.settings.environment_in_force) {
    variables["NCCL_DEBUG"] = "INFO";
  }
  return record;
}

/// Compares p2p on NVLink with host memory in one case.
inline CaseResult nvlink_case(const Case& definition, double p2p, double host, double low,
                              double high) {
  return converged(definition,
                   {measured(definition, "p2p", p2p, Path::nvlink),
                    measured(definition, "host", host, Path::host_memory)},
                   {ratio("host", host / p2p, low, high)});
}

/// Makes a record with one 1 GiB all-reduce.
inline Record one_case(double p2p, double host, double low, double high) {
  Record record = two_gpus();
  record.cases = {nvlink_case(all_reduce(1 << 30), p2p, host, low, high)};
  return record;
}

/// Records the main job on two H200.
inline Record h200_record() {
  Record record = two_gpus();
  record.cases = {nvlink_case(all_reduce(8), 6.51e-6, 9.31e-6, 1.40, 1.46),
                  nvlink_case(all_reduce(1 << 20), 14.9e-6, 64.0e-6, 4.26, 4.32),
                  nvlink_case(all_reduce(1 << 30), 3.27e-3, 39.0e-3, 11.83, 12.02)};
  record.cases[0].converged = false;
  record.cases[0].stopped = StopReason::out_of_rounds;
  for (VariantResult& variant : record.cases[0].variants) {
    variant.execution.cold_data = false;
  }
  Case send = all_reduce(1 << 30);
  send.operation = OperationKind::send_recv;
  send.pair = Pair{0, 1, true};
  record.cases.push_back(nvlink_case(send, 2.97e-3, 45.3e-3, 15.1, 15.4));
  record.warnings = {{"not-converged", "1 of 4 cases did not converge", "give it more --budget"},
                     {"shared-host", "other processes used the GPUs", ""}};
  return record;
}

/// Measures dependent loads of memory of 2 MiB: their time is one load's, so there is no bandwidth.
inline Record load_latency_record() {
  Record record = two_gpus();
  Case definition = all_reduce(2 << 20);
  definition.operation = OperationKind::load_latency;
  definition.pair = Pair{0, 1};
  record.cases = {nvlink_case(definition, 0.86e-6, 1.21e-6, 1.40, 1.42)};
  for (VariantResult& variant : record.cases[0].variants) {
    variant.algbw.reset();
    variant.busbw.reset();
  }
  return record;
}

/// Puts GPUs across a host bridge: NCCL does not use P2P, both variants go through host memory.
inline Record phb_record() {
  Record record = two_gpus();
  const Case definition = all_reduce(1 << 28);
  record.cases = {converged(definition,
                            {measured(definition, "p2p", 9.83e-3, Path::host_memory),
                             measured(definition, "host", 9.81e-3, Path::host_memory)},
                            {ratio("host", 0.998, 0.995, 1.001)})};
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->name = "NVIDIA L4";
    rank.gpu->nvlink_version.reset();
    rank.gpu->nvlink_links.reset();
    rank.gpu->nvlink_links_active.reset();
  }
  record.machine.links = {{.from = 0, .to = 1, .p2p = false, .nvlink = false}};
  return record;
}

/// Measures three variants, of which one cannot run the largest size.
inline Record three_variants_record() {
  Record record = two_gpus();
  Environment net = without_p2p();
  net["NCCL_SHM_DISABLE"] = "1";
  record.settings.variants.push_back({"net", net});
  record.settings.environment_in_force.clear();
  const Case small = all_reduce(1 << 20);
  const Case large = all_reduce(1 << 30);
  CaseResult first = nvlink_case(small, 14.9e-6, 64.0e-6, 4.26, 4.32);
  first.variants.push_back(measured(small, "net", 512.0e-6, Path::network));
  first.ratios.push_back(ratio("net", 34.4, 33.9, 34.9));
  CaseResult second = nvlink_case(large, 3.27e-3, 39.0e-3, 11.83, 12.02);
  second.variants.push_back(skipped("net", "the job died | at 1 GiB"));
  record.cases = {first, second};
  return record;
}

/// Measures MPI in CPU memory.
inline Record mpi_record() {
  Record record = two_gpus();
  record.settings.argv = {"linkgain", "run", "--backend", "mpi"};
  record.settings.backend = BackendKind::mpi;
  record.settings.variants = {{"shared-memory", {{"OMPI_MCA_btl", "self,vader"}}},
                              {"tcp", {{"OMPI_MCA_btl", "self,tcp"}}}};
  record.settings.environment_in_force.clear();
  Software software;
  software.linkgain = "0.1.0";
  software.build = "mpi";
  software.mpi = "Open MPI 4.1.4";
  record.machine.software = software;
  record.machine.links.clear();
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu.reset();
  }
  const Case definition = all_reduce(16 << 20);
  record.cases = {converged(definition,
                            {measured(definition, "shared-memory", 8.1e-3, Path::host_memory),
                             measured(definition, "tcp", 17.9e-3, Path::network)},
                            {ratio("tcp", 2.21, 2.19, 2.23)})};
  return record;
}

/// Makes the host variant's result wrong at 1 GiB and p2p's at 8 B.
inline Record wrong_data_record() {
  Record record = h200_record();
  record.cases.pop_back();
  record.cases[2].variants[1].verification =
      checked(536870912, 12, "rank 1, element 17: 3 instead of 5");
  record.cases[0].variants[0].verification = checked(4, 1, {});
  return record;
}

}  // namespace linkgain::test
