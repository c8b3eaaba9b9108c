#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linkgain/base/json.hpp"

namespace linkgain::test {

/// A column of full_record()'s samples that no run writes.
struct ImpossibleColumn {
  std::string what;
  std::string column;
  nlohmann::ordered_json value;
};

/// Makes them from its samples, of which those of the first case have three ranks.
inline std::vector<ImpossibleColumn> impossible_columns(const nlohmann::ordered_json& samples) {
  using Column = nlohmann::ordered_json;
  const Column& times = samples["seconds_by_rank"];
  const Column& reasons = samples["clock_event_reasons_by_rank"];
  const auto repeated = [](const Column& column, std::size_t count) {
    return Column(std::vector<Column>(count, column));
  };
  Column untimed = times;
  for (Column& of_rank : untimed) of_rank[0] = nullptr;
  Column same_round = samples["round"];
  for (Column& round : same_round) round = 0;
  return {{"times of no rank", "seconds_by_rank", Column::array()},
          {"times of one rank", "seconds_by_rank", repeated(times[0], 1)},
          {"times of six ranks", "seconds_by_rank", repeated(times[0], 6)},
          {"health of six ranks", "clock_event_reasons_by_rank", repeated(reasons[0], 6)},
          {"a sample without a time", "seconds_by_rank", untimed},
          {"a sample twice", "round", same_round}};
}

}  // namespace linkgain::test
