#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/launch_records.hpp"
#include "support/sample_records.hpp"

/// Records of all-reduces whose times are known.
namespace linkgain::test {

/// Seconds for so many bytes.
using Model = std::function<double(double)>;

inline constexpr int kLaunches = 6;

inline double on_link(double bytes) { return 5e-6 + bytes / 300e9; }
inline double on_host(double bytes) { return 8e-6 + bytes / 25e9; }

/// Launches that scatter by so much about a time.
class Scatter {
 public:
  explicit Scatter(double deviation, unsigned seed = 1)
      : deviation_(deviation), generator_(seed), normal_(0.0, 1.0) {}
  std::vector<double> launches(double time) {
    std::vector<double> times;
    for (int i = 0; i < kLaunches; ++i) {
      times.push_back(time * std::exp(deviation_ * normal_(generator_)));
    }
    return times;
  }

 private:
  double deviation_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

/// Lists powers of two from 4 KiB to 64 MiB.
inline std::vector<std::int64_t> usual_sizes() {
  std::vector<std::int64_t> sizes;
  for (int power = 12; power <= 26; ++power) sizes.push_back(std::int64_t{1} << power);
  return sizes;
}

/// Plants the all-reduces of `like` at these sizes, by NVLink and through the host's memory.
inline std::vector<Measured> measured_curves(const Case& like,
                                             const std::vector<std::int64_t>& sizes,
                                             const Model& link, const Model& host,
                                             Scatter& scatter) {
  std::vector<Measured> all;
  for (const std::int64_t size : sizes) {
    Case definition = like;
    definition.size = Bytes{size};
    const auto bytes = static_cast<double>(size);
    all.push_back({definition, "p2p", scatter.launches(link(bytes)), Path::nvlink});
    all.push_back({definition, "host", scatter.launches(host(bytes)), Path::host_memory});
  }
  return all;
}

/// Marks every variant that has samples as measured, as a run that is over does.
inline Record finished(Record record) {
  summarise(record);
  return record;
}

inline Record planted_record(const Model& link = on_link, const Model& host = on_host,
                             double deviation = 0.0, unsigned seed = 1) {
  Scatter scatter(deviation, seed);
  return finished(run_of(measured_curves(sized(8), usual_sizes(), link, host, scatter)));
}

/// Describes two RTX 3090 without a bridge, whose P2P variant took that path.
inline Record without_bridge(Path p2p = Path::host_memory) {
  Record record = two_gpus();
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->name = "NVIDIA GeForce RTX 3090";
    rank.gpu->nvlink_version.reset();
    rank.gpu->nvlink_links = 4;
    rank.gpu->nvlink_links_active = 0;
    rank.gpu->nvlink_rate_gb_per_s.reset();
    rank.gpu->nvlink_total_gb_per_s.reset();
  }
  record.machine.links = {{.from = 0, .to = 1, .p2p = false, .nvlink = false}};
  Scatter scatter(0.0);
  const Model by_p2p = [p2p](double bytes) {
    return p2p == Path::pcie_p2p ? on_host(bytes) / 2.0 : on_host(bytes);
  };
  auto all = measured_curves(sized(8), usual_sizes(), by_p2p, on_host, scatter);
  for (Measured& each : all) each.path = each.variant == "p2p" ? p2p : Path::host_memory;
  const Case step = parse_case_name("gpt2_step/bf16/gpt2/np2");
  const Case alone = parse_case_name("gpt2_step/bf16/gpt2/np2/none");
  for (const char* variant : {"p2p", "host"}) {
    all.push_back({step, variant, scatter.launches(0.021), Path::host_memory});
  }
  all.push_back({alone, "p2p", scatter.launches(0.016), Path::unknown});
  record.cases = run_of(all).cases;
  return finished(record);
}

}  // namespace linkgain::test
