// Writes the record of a made-up run of a profile, as large as a real one: profile_generator FILE
// PROFILE GPUS [LAUNCHES].
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "support/profile_record.hpp"

int main(int argc, char** argv) {
  using namespace linkgain;
  if (argc != 4 && argc != 5) {
    fmt::print(stderr, "usage: profile_generator FILE PROFILE GPUS [LAUNCHES]\n");
    return 2;
  }
  const int launches = argc == 5 ? std::atoi(argv[4]) : 8;
  const Profile profile = from_name<Profile>(argv[2]);
  const Record record = test::profile_record(profile, std::atoi(argv[3]), launches, kFewestSamples);
  std::ofstream(argv[1], std::ios::binary) << to_json(record);
  return 0;
}
