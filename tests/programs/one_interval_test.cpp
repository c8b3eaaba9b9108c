// The same two sets of launches have one interval in `run`, `exec`, `compare` and `check`, by what
// the programs themselves print.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "linkgain/statistics/statistics.hpp"
#include "programs.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

/// Seconds that scatter by 0.4 %, and 1.5 % more that scatter by 1.2 %.
const std::vector<double> kFast{1.0012, 0.9971, 1.0043, 1.0008, 0.9949, 1.0034, 0.9987, 0.9996};
const std::vector<double> kSlow{1.0125, 1.0301, 1.0092, 1.0214, 1.0006, 1.0188, 1.0107, 1.0247};

class OneInterval : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return name;
  }

  Outcome start(const Words& arguments) {
    ProgramRequest request = linkgain(folder_, arguments);
    request.environment["NCCL_P2P_DISABLE"] = std::nullopt;
    request.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    return run_program(request);
  }

  Json json_of(const Words& arguments) {
    const Outcome outcome = start(arguments);
    return outcome.output.empty() ? throw std::runtime_error(outcome.error)
                                  : Json::parse(outcome.output);
  }

  std::string write_record(const std::string& name, const std::vector<double>& p2p,
                           const std::vector<double>& host) {
    Record record =
        run_of({{sized(1 << 20), "p2p", p2p}, {sized(1 << 20), "host", host, Path::host_memory}},
               "2026-01-01T00:00:00Z");
    record.settings.launches = static_cast<int>(kFast.size());
    summarise(record);
    return write(name, to_json(record));
  }

  ScratchFolder folder_;
};

/// All are of log(slow / fast).
Interval logs(double low, double high) { return {std::log(low), std::log(high)}; }

/// A row of CSV by its header's names.
std::map<std::string, std::string> row_of(const std::string& csv, std::size_t row) {
  std::istringstream lines(csv);
  std::string header;
  std::string line;
  std::getline(lines, header);
  for (std::size_t i = 0; i <= row; ++i) std::getline(lines, line);
  std::map<std::string, std::string> cells;
  std::istringstream names(header);
  std::istringstream values(line);
  std::string value;
  for (std::string name; std::getline(names, name, ',');) {
    std::getline(values, value, ',');
    cells[name] = value;
  }
  return cells;
}

void expect_near(const Interval& found, const Interval& expected) {
  constexpr double kPrinted = 2e-6;  // check prints shares, and exec's program digits
  EXPECT_NEAR(found.low, expected.low, kPrinted);
  EXPECT_NEAR(found.high, expected.high, kPrinted);
}

TEST_F(OneInterval, OfTheSameLaunchesInAllCommands) {
  // run
  const std::string run = write_record("run.json", kFast, kSlow);
  const Outcome report = with_status(0, start({"report", run, "--format", "csv"}));
  const auto host = row_of(report.output, 1);
  const Interval of_run = logs(std::stod(host.at("ratio_low")), std::stod(host.at("ratio_high")));
  EXPECT_GT(of_run.low, 0.0);
  EXPECT_LT(of_run.high - of_run.low, 0.04);
  // compare
  const std::string fast = write_record("fast.json", kFast, kFast);
  const std::string slow = write_record("slow.json", kSlow, kSlow);
  const Json difference =
      json_of({"compare", slow, fast, "--json"})["comparisons"][0]["cases"][0]["difference"];
  expect_near(logs(difference["low"], difference["high"]), of_run);
  // check
  ASSERT_EQ(start({"baseline", fast, "-o", "baseline.json"}).status, 0);
  const Json check = json_of({"check", slow, "--baseline", "baseline.json", "--json"})["cases"][0];
  expect_near(logs(1.0 + check["shift_low"].get<double>(), 1.0 + check["shift_high"].get<double>()),
              of_run);
  // exec
  for (const auto& [name, launches] : {std::pair{"fast", kFast}, {"slow", kSlow}}) {
    std::string text;
    for (const double each : launches) text += fmt::format("took {:.9f}\n", each);
    write(name, text);
  }
  // It takes long enough for its own time to be steady: there is a line for each round that is
  // asked for, and none for more.
  write("print", "#!/bin/sh\nsleep 0.2\nhead -n 1 \"$SIDE\"\nsed -i 1d \"$SIDE\"\n");
  std::filesystem::permissions(folder_ / "print", std::filesystem::perms::owner_all);
  const Outcome exec =
      with_status(0, start({"exec", "--out", "out", "--rounds", "8", "--ci-width", "50%",
                            "--variant", "fast:SIDE=fast", "--variant", "slow:SIDE=slow",
                            "--metric", "took ([0-9.]+)", "--", "./print"}));
  const Json record = read_record(folder_);
  const Json& ratio = record["cases"].back()["ratios"][0];
  expect_near(logs(ratio["low"], ratio["high"]), of_run);
}

}  // namespace
}  // namespace linkgain::test
