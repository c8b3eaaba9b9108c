#include "linkgain/nccl_tests/nccl_tests_json.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kJsonVersion = 3;

Json result_json(const NcclTestsResult& result) {
  Json json;
  json["time"] = result.time.value * 1e6;
  json["alg_bw"] = result.algorithm_bandwidth_gb_per_s;
  json["bus_bw"] = result.bus_bandwidth_gb_per_s;
  json["nwrong"] = result.wrong ? Json(static_cast<double>(*result.wrong)) : Json();
  return json;
}

Json row_json(const NcclTestsRow& row, int iterations) {
  Json json;
  json["size"] = row.size.value;
  json["count"] = row.elements;
  json["type"] = row.type;
  json["redop"] = row.reduction;
  json["root"] = fmt::format("{:6}", row.root);
  json["out_of_place"] = result_json(row.out_of_place);
  json["in_place"] = result_json(row.in_place);
  json["actual_iterations"] = iterations;
  json["experiment_name"] = "";
  return json;
}

Json device_json(const RankInfo& rank) {
  Json json;
  json["rank"] = rank.rank;
  json["group"] = 0;
  json["pid"] = rank.pid;
  json["hostname"] = nccl_tests_host(rank.host);
  json["device"] = rank.gpu ? Json(rank.gpu->cuda_index) : Json();
  json["device_hex"] = rank.gpu ? Json(nccl_tests_pci_id(rank.gpu->pci_bus_id)) : Json();
  json["device_info"] = rank.gpu ? rank.gpu->name : "CPU memory";
  return json;
}

Json config_json(const NcclTestsReport& report) {
  const NcclTestsOptions& options = report.options;
  Json json;
  json["nthreads"] = 1;
  json["ngpus"] = 1;
  json["minimum_bytes"] = options.smallest.value;
  json["maximum_bytes"] = options.largest.value;
  if (options.factor > 1) {
    json["step_factor"] = options.factor;
  } else {
    json["step_bytes"] = options.step.value;
  }
  json["warmup_iters"] = options.warm_ups;
  json["iterations"] = options.iterations;
  json["aggregated_iterations"] = 1;
  json["validation"] = options.checks;
  json["graph"] = options.graph_launches;
  json["blocking_collectives"] = "false";
  json["per_iter_timing"] = "false";
  json["per_iter_skip"] = 0;
  json["parallel_init"] = "false";
  json["devices"] = Json::array();
  for (const RankInfo& rank : report.hello.machine.ranks) {
    json["devices"].push_back(device_json(rank));
  }
  return json;
}

}  // namespace

std::string nccl_tests_json(const NcclTestsReport& report, const std::string& end_time) {
  Json json;
  json["version"] = kJsonVersion;
  json["start_time"] = report.start_time;
  json["args"] = report.options.arguments;
  json["env"] = Json::array();
  for (const auto& [name, value] : report.hello.environment) {
    json["env"].push_back(fmt::format("{}={}", name, value));
  }
  const auto library = nccl_version_code(report.hello.machine.software.nccl_library);
  json["nccl_version"] = library ? Json(*library) : Json();
  json["config"] = config_json(report);
  json["results"] = Json::array();
  for (const NcclTestsRow& row : report.rows) {
    json["results"].push_back(row_json(row, report.options.iterations));
  }
  json["out_of_bounds"]["count"] = report.failed_checks;
  json["out_of_bounds"]["okay"] = report.failed_checks > 0 ? "false" : "true";
  json["average_bus_bandwidth"]["bandwidth"] = mean_bus_bandwidth(report);
  json["average_bus_bandwidth"]["okay"] = !report.options.least_bandwidth_gb_per_s ? "unchecked"
                                          : is_below_least_bandwidth(report)       ? "false"
                                                                                   : "true";
  json["errors"] = Json::array();
  json["end_time"] = end_time;
  return json.dump() + "\n";
}

NcclTestsFile::NcclTestsFile(const std::string& path) : name_(path) {
  file_.reset(std::fopen(name_.c_str(), "wx"));
  for (int i = 0; !file_ && errno == EEXIST; ++i) {
    name_ = fmt::format("{}.{}", path, i);
    file_.reset(std::fopen(name_.c_str(), "wx"));
  }
  if (!file_) throw UsageError(fmt::format("-J {}: cannot be written", path));
}

void NcclTestsFile::write(const std::string& text) {
  const bool is_written = std::fputs(text.c_str(), file_.get()) >= 0;
  if (std::fclose(file_.release()) == 0 && is_written) return;
  throw MachineError(fmt::format("{} could not be written in full", name_), "look for a full disk");
}

}  // namespace linkgain
