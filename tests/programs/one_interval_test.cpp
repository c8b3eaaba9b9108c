// The same two sets of launches have one interval in `run`, `exec`, `compare` and `check`, by what
// the programs themselves print.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "linkgain/statistics/statistics.hpp"
#include "programs.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

/// Seconds that scatter by 0.4 %, and 1.5 % more that scatter by 1.2 %.
const std::vector<double> kFast{1.0012, 0.9971, 1.0043, 1.0008, 0.9949, 1.0034, 0.9987, 0.9996};
const std::vector<double> kSlow{1.0125, 1.0301, 1.0092, 1.0214, 1.0006, 1.0188, 1.0107, 1.0247};

/// Reads a row of CSV by its header's names.
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

/// What a command says: the interval of log(slow / fast) if it gives one, and its verdict, which
/// the CSV of `run` lacks.
struct Said {
  std::optional<Interval> interval;
  std::string verdict;
};

std::optional<Interval> logs(const Json& low, const Json& high, double of_one = 0.0) {
  if (low.is_null()) return std::nullopt;
  return Interval{std::log(of_one + low.get<double>()), std::log(of_one + high.get<double>())};
}

Json number_of(const std::string& cell) { return cell.empty() ? Json() : Json(std::stod(cell)); }

void expect_near(const Said& found, const Said& expected) {
  constexpr double kPrinted = 2e-6;  // check prints shares, and exec's program digits
  ASSERT_EQ(found.interval.has_value(), expected.interval.has_value()) << found.verdict;
  if (!found.interval) return;
  EXPECT_NEAR(found.interval->low, expected.interval->low, kPrinted);
  EXPECT_NEAR(found.interval->high, expected.interval->high, kPrinted);
}

/// A case, and the launches of its two sides.
struct Sides {
  Case definition;
  std::vector<double> fast;
  std::vector<double> slow;
};

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

  using Change = std::function<void(Record&)>;

  /// Writes a record in which p2p has the launches of one side and host those of another, and does
  /// `change` to it first.
  std::string write_record(const std::string& name, const std::vector<Sides>& cases,
                           std::vector<double> Sides::*p2p, std::vector<double> Sides::*host,
                           const Change& change) {
    std::vector<Measured> measured;
    for (const Sides& each : cases) {
      measured.push_back({each.definition, "p2p", each.*p2p});
      measured.push_back({each.definition, "host", each.*host, Path::host_memory});
    }
    Record record = run_of(measured, "2026-01-01T00:00:00Z");
    record.settings.launches = static_cast<int>(kFast.size());
    if (change) change(record);
    summarise(record);
    return write(name, to_json(record));
  }

  /// Returns what `run`, `compare` and `check` say of the first case.
  std::map<std::string, Said> said_of(const std::vector<Sides>& cases, const Change& change = {}) {
    const std::string run = write_record("run.json", cases, &Sides::fast, &Sides::slow, change);
    const std::string before = write_record("fast.json", cases, &Sides::fast, &Sides::fast, change);
    const std::string after = write_record("slow.json", cases, &Sides::slow, &Sides::slow, change);
    std::map<std::string, Said> said;
    const auto host = row_of(start({"report", run, "--format", "csv"}).output, 1);
    said["run"] = {logs(number_of(host.at("ratio_low")), number_of(host.at("ratio_high"))), ""};
    const Json compared =
        json_of({"compare", after, before, "--json"})["comparisons"][0]["cases"][0];
    const Json& difference = compared["difference"];
    said["compare"] = {logs(difference["low"], difference["high"]), compared["verdict"]};
    start({"baseline", before, "-o", "baseline.json"});
    const Json checked =
        json_of({"check", after, "--baseline", "baseline.json", "--json"})["cases"][0];
    said["check"] = {logs(checked["shift_low"], checked["shift_high"], 1.0), checked["verdict"]};
    return said;
  }

  ScratchFolder folder_;
};

TEST_F(OneInterval, OfTheSameLaunchesInAllCommands) {
  const auto said = said_of({{sized(1 << 20), kFast, kSlow}});
  const Said& of_run = said.at("run");
  ASSERT_TRUE(of_run.interval);
  EXPECT_GT(of_run.interval->low, 0.0);
  EXPECT_LT(of_run.interval->high - of_run.interval->low, 0.04);
  for (const auto& [command, each] : said) expect_near(each, of_run);
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
  expect_near({logs(ratio["low"], ratio["high"]), ""}, of_run);
}

/// Needs two launches: how one differs from the next is known of no other set of launches.
TEST_F(OneInterval, IsNoneWhereASideHasOneLaunch) {
  for (const auto& [fast, slow] : {std::pair{kFast, std::vector{1.5}},
                                   {std::vector{1.0}, kSlow},
                                   {std::vector{1.0}, std::vector{1.5}}}) {
    // A like case of more launches tells a deviation all the same.
    for (const auto& [command, each] :
         said_of({{sized(1 << 20), fast, slow}, {sized(1 << 21), kFast, kSlow}})) {
      EXPECT_FALSE(each.interval) << command;
      EXPECT_EQ(each.verdict, command == "run" ? "" : "inconclusive") << command;
    }
  }
}

/// Ignores what wrong data take.
TEST_F(OneInterval, CountsNoWrongDataAmongLikeCases) {
  const std::vector<double> like{1.006, 0.994, 1.006, 0.994, 1.007, 0.993, 1.006, 0.994};
  const Sides right{sized(1 << 20), kFast, kSlow};
  const Sides other{sized(1 << 21), like, like};
  const Said alone = said_of({right}).at("run");
  EXPECT_NE(said_of({right, other}).at("run").interval->low, alone.interval->low) << "of one pool";
  const auto make_wrong = [](Record& record) {
    for (VariantResult& each : record.cases.back().variants) {
      each.verification = Verification{4, 1, 0.0, 0.0, "rank 1, element 0"};
    }
  };
  for (const auto& [command, each] : said_of({right, other}, make_wrong)) {
    SCOPED_TRACE(command);
    expect_near(each, alone);
  }
}

/// Allows for failed runs that were the slow ones.
TEST_F(OneInterval, IsNoneWhereARunOfAProgramFailed) {
  write("print",
        "#!/bin/sh\necho >> \"$SIDE\"\n"
        "[ \"$SIDE $(wc -l < \"$SIDE\")\" != \"$(cat fails)\" ] && echo took $SIDE\n");
  std::filesystem::permissions(folder_ / "print", std::filesystem::perms::owner_all);
  for (const auto& [name, fails] : {std::pair{"good", ""}, {"bad", "1.5 4\n"}}) {
    write("fails", fails);
    for (const char* side : {"1.0", "1.5"}) write(side, "");
    start({"exec", "--out", name, "--rounds", "5", "--variant", "fast:SIDE=1.0", "--variant",
           "slow:SIDE=1.5", "--metric", "took ([0-9.]+)", "--", "./print"});
  }
  EXPECT_THAT(start({"report", "bad"}).output, HasSubstr("No comparison"));
  const auto verdicts = [](const Json& cases) {
    std::map<std::string, std::string> all;
    for (const Json& each : cases) all[each.at("variant")] = each.at("verdict");
    return all;
  };
  const Json compared = json_of({"compare", "good", "bad", "--json"})["comparisons"][0]["cases"];
  EXPECT_EQ(verdicts(compared).at("slow"), "not comparable");
  EXPECT_NE(verdicts(compared).at("fast"), "not comparable");
  EXPECT_EQ(start({"baseline", "good", "-o", "baseline.json"}).status, 0);
  const Json checked = json_of({"check", "bad", "--baseline", "baseline.json", "--json"})["cases"];
  EXPECT_EQ(verdicts(checked).at("slow"), "missing");
  EXPECT_NE(verdicts(checked).at("fast"), "missing");
}

}  // namespace
}  // namespace linkgain::test
