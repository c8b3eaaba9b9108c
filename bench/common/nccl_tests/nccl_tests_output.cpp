#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <numeric>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {
namespace {

/// Names the versions of the library that is measured, which is not always NCCL.
std::string versions(const protocol::HelloReply& hello) {
  const Software& software = hello.machine.software;
  const auto header = nccl_version_code(software.nccl_header.value_or(""));
  const auto library = nccl_version_code(software.nccl_library.value_or(""));
  if (header && library) return fmt::format("nccl-headers={} nccl-library={}", *header, *library);
  return fmt::format("backend={} ({}, in CPU memory)", name_of(hello.backend), software.mpi);
}

std::string device_line(const RankInfo& rank) {
  const std::string process = fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10}", rank.rank,
                                          0, rank.pid, nccl_tests_host(rank.host));
  if (!rank.gpu) return visible(process) + " CPU memory\n";
  return visible(fmt::format("{} device {:2} [{}] {}", process, rank.gpu->cuda_index,
                             nccl_tests_pci_id(rank.gpu->pci_bus_id), rank.gpu->name)) +
         "\n";
}

/// Writes two decimals, or as many as fit.
std::string number(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0).substr(0, width);
}

std::string half_line(const NcclTestsResult& result) {
  const std::string wrong =
      result.wrong ? fmt::format("  {:6g}", static_cast<double>(*result.wrong)) : "    N/A";
  return fmt::format("  {}  {}  {}{}", number(result.time.value * 1e6, 7),
                     number(result.algorithm_bandwidth_gb_per_s, 6),
                     number(result.bus_bandwidth_gb_per_s, 6), wrong);
}

std::string column_titles() {
  const auto half = [](const std::array<const char*, 4>& names) {
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", names[0], names[1], names[2], names[3]);
  };
  const auto line = [&](const std::array<const char*, 5>& names,
                        const std::array<const char*, 4>& results) {
    return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{} \n", names[0], names[1], names[2],
                       names[3], names[4], half(results), half(results));
  };
  return fmt::format("# {:50}{:>23}{:>31}{:10}\n", "", "out-of-place", "in-place", "") +
         line({"size", "count", "type", "redop", "root"}, {"time", "algbw", "busbw", "#wrong"}) +
         line({"(B)", "(elements)", "", "", ""}, {"(us)", "(GB/s)", "(GB/s)", ""});
}

std::string bandwidth_verdict(const NcclTestsReport& report) {
  if (!report.options.least_bandwidth_gb_per_s) return "";
  return is_below_least_bandwidth(report) ? "FAILED" : "OK";
}

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

Json row_json(const NcclTestsRow& row) {
  Json json;
  json["size"] = row.size.value;
  json["count"] = row.elements;
  json["type"] = row.type;
  json["redop"] = row.reduction;
  json["root"] = fmt::format("{:6}", row.root);
  json["out_of_place"] = result_json(row.out_of_place);
  json["in_place"] = result_json(row.in_place);
  json["actual_iterations"] = row.iterations;
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

std::string nccl_tests_host(const std::string& host) { return host.substr(0, host.find('.')); }

std::string nccl_tests_pci_id(const std::string& id) {
  const std::size_t dot = id.rfind('.');
  return dot == std::string::npos || dot < 10 ? id : id.substr(dot - 10, 10);
}

double mean_bus_bandwidth(const NcclTestsReport& report) {
  double sum = 0.0;
  int measured = 0;
  for (const NcclTestsRow& row : report.rows) {
    for (const NcclTestsResult& half : {row.out_of_place, row.in_place}) {
      if (!(half.time.value > 0.0)) continue;
      sum += half.bus_bandwidth_gb_per_s;
      ++measured;
    }
  }
  return measured == 0 ? 0.0 : sum / measured;
}

bool is_below_least_bandwidth(const NcclTestsReport& report) {
  return mean_bus_bandwidth(report) < 0.9 * report.options.least_bandwidth_gb_per_s.value_or(0.0);
}

Seconds nccl_tests_time(NcclTestsTime which, const std::vector<double>& seconds_of_ranks) {
  if (seconds_of_ranks.empty()) return {};
  switch (which) {
    case NcclTestsTime::of_rank_0:
      return Seconds{seconds_of_ranks.front()};
    case NcclTestsTime::mean:
      return Seconds{std::accumulate(seconds_of_ranks.begin(), seconds_of_ranks.end(), 0.0) /
                     static_cast<double>(seconds_of_ranks.size())};
    case NcclTestsTime::least:
      return Seconds{*std::ranges::min_element(seconds_of_ranks)};
    case NcclTestsTime::most:
      return Seconds{*std::ranges::max_element(seconds_of_ranks)};
  }
  throw std::logic_error("unhandled choice of a time");
}

std::string nccl_tests_head(const NcclTestsReport& report) {
  const NcclTestsOptions& options = report.options;
  const bool has_factor = options.factor > 1;
  std::string text = fmt::format(
      "# linkgain-bench version {} {}\n"
      "# Collective test starting: {}\n"
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
      "agg iters: 1 validation: {} graph: {} unalign: 0\n"
      "#\n# Using devices\n",
      visible(report.hello.machine.software.linkgain), visible(versions(report.hello)),
      report.program, options.smallest.value, options.largest.value,
      has_factor ? options.factor : options.step.value, has_factor ? "factor" : "bytes",
      options.warm_ups, options.iterations, options.checks, options.graph_launches);
  for (const RankInfo& rank : report.hello.machine.ranks) text += device_line(rank);
  for (const std::string& note : report.notes) text += fmt::format("#\n# {}\n", visible(note));
  return text + "#\n" + column_titles();
}

std::string nccl_tests_line(const NcclTestsRow& row) {
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}{}{}\n", row.size.value, row.elements,
                     row.type, row.reduction, row.root, half_line(row.out_of_place),
                     half_line(row.in_place));
}

std::string nccl_tests_foot(const NcclTestsReport& report) {
  return fmt::format(
      "# {:<20} : {} {}\n"
      "# {:<20} : {:g} {}\n"
      "#\n# Collective test concluded: {}\n#\n\n",
      "Out of bounds values", report.failed_checks, report.failed_checks > 0 ? "FAILED" : "OK",
      "Avg bus bandwidth", mean_bus_bandwidth(report), bandwidth_verdict(report), report.program);
}

std::string nccl_tests_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string nccl_tests_json(const NcclTestsReport& report, const std::string& end_time) {
  Json json;
  json["version"] = kJsonVersion;
  json["start_time"] = report.start_time;
  json["args"] = report.options.arguments;
  json["env"] = Json::array();
  for (const auto& [name, value] : report.hello.environment) {
    json["env"].push_back(fmt::format("{}={}", name, value));
  }
  const auto library = nccl_version_code(report.hello.machine.software.nccl_library.value_or(""));
  json["nccl_version"] = library ? Json(*library) : Json();
  json["config"] = config_json(report);
  json["results"] = Json::array();
  for (const NcclTestsRow& row : report.rows) {
    json["results"].push_back(row_json(row));
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
