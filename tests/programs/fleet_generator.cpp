// Writes the records of a made-up cluster, as large as real ones: fleet_generator DIR NODES CASES
// GPUS ROUNDS. Node 7 has a slow pair of GPUs, node 11 a record that is cut off, node 13 takes
// another path, node 17 has wrong data; all others are healthy.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "linkgain/base/errors.hpp"
#include "support/fleet_records.hpp"

namespace {

using namespace linkgain;

struct Plan {
  std::filesystem::path folder;
  int nodes = 0;
  int cases = 0;
  int gpus = 0;
  int rounds = 0;
};

void spoil(Record& record, int number) {
  if (number == 17) record.exit_code = static_cast<int>(ExitCode::wrong_data);
  for (CaseResult& result : record.cases) {
    VariantResult& first = result.variants[0];
    if (number == 13) {
      first.path = Path::host_memory;
      first.evidence->nvlink_sent = 0;
    }
    if (number == 17) first.verification->wrong = 1;
    const auto& pair = result.definition.pair;
    if (number == 7 && pair && pair->from == 0 && pair->to == 1) first.time->value *= 1.3;
  }
}

std::string record_text(const Plan& plan, int number) {
  Record record = test::fleet_node(fmt::format("node{:05}", number),
                                   static_cast<std::uint64_t>(number), plan.gpus, plan.cases);
  spoil(record, number);
  test::add_fleet_samples(record, plan.rounds);
  std::string text = to_json(record);
  if (number == 11) text.erase(text.size() / 3);
  return text;
}

void write_all(const Plan& plan) {
  for (int number = 1; number <= plan.nodes; ++number) {
    const auto folder = plan.folder / fmt::format("node{:05}", number);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "record.json", std::ios::binary) << record_text(plan, number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: fleet_generator DIR NODES CASES GPUS ROUNDS\n");
    return 2;
  }
  write_all(
      {argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])});
  return 0;
}
