#include "linkgain/race/tuning.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "linkgain/analysis/path_validity.hpp"

namespace linkgain {
namespace {

/// Returns the first launch of those that confirm.
int confirming_from(const Record& record) {
  return record.settings.race->screening + record.settings.race->choosing;
}

/// Returns the record with the samples of these launches alone.
Record part_of(const Record& record, int first, int end) {
  Record part = record;
  for (CaseResult& result : part.cases) {
    std::erase_if(result.samples, [=](const Sample& sample) {
      return sample.launch < first || sample.launch >= end;
    });
    summarise(result);
  }
  return part;
}

LaunchMeans means_of(const Record& record, int first, int end) {
  return launch_means(part_of(record, first, end));
}

/// Tells whether NCCL is made to take LL128, whatever it knows of the links.
bool forces_ll128(const Variant& variant) {
  return std::ranges::count(variant.environment, Environment::value_type{"NCCL_PROTO", "LL128"}) >
         0;
}

Field first_field(const Record& record) {
  const bool is_safe =
      record.settings.backend != BackendKind::nccl || offers_nvlink(record.machine);
  std::vector<bool> racing;
  for (const Variant& variant : record.settings.variants) {
    racing.push_back(is_safe || !forces_ll128(variant));
  }
  return Field(record.cases.size(), racing);
}

Field screened_field(const Record& record) {
  return still_racing(first_field(record), means_of(record, 0, record.settings.race->screening));
}

/// What all launches that choose say.
struct Choice {
  LaunchMeans means;
  Field left;  ///< who may win
  std::vector<std::size_t> winners;
};

Choice choice_of(const Record& record) {
  Choice choice{.means = means_of(record, 0, confirming_from(record)), .left = {}, .winners = {}};
  choice.left = still_racing(screened_field(record), choice.means);
  choice.winners = winners_of(choice.left, choice.means);
  return choice;
}

/// Leaves only these variants, by their places, in their order.
template <typename T>
void keep_places(std::vector<T>& all, const std::set<std::size_t>& places) {
  std::vector<T> kept;
  for (const std::size_t place : places) {
    if (place < all.size()) kept.push_back(std::move(all[place]));
  }
  all = std::move(kept);
}

void keep_variants(CaseResult& result, const std::set<std::size_t>& places) {
  keep_places(result.variants, places);
  std::erase_if(result.samples, [&](const Sample& sample) {
    return !places.contains(static_cast<std::size_t>(sample.variant));
  });
  for (Sample& sample : result.samples) {
    const auto place = places.find(static_cast<std::size_t>(sample.variant));
    sample.variant = static_cast<int>(std::distance(places.begin(), place));
  }
}

/// Counts candidates, each in each case where it races.
std::int64_t pairs_in(const Field& field) {
  std::int64_t pairs = 0;
  for (const std::vector<bool>& racing : field) {
    pairs += std::max<std::int64_t>(0, std::ranges::count(racing, true) - 1);
  }
  return pairs;
}

/// Tells whether a variant gave wrong data in a case, in whichever launch.
bool has_wrong_data(const Record& record, const std::string& variant) {
  return std::ranges::any_of(record.cases, [&](const CaseResult& result) {
    const VariantResult* const own = find_variant(result, variant);
    return own != nullptr && linkgain::has_wrong_data(*own);
  });
}

}  // namespace

Field field_of(const Record& record, RaceStage stage) {
  switch (stage) {
    case RaceStage::screening:
      return first_field(record);
    case RaceStage::choosing:
      return screened_field(record);
    case RaceStage::confirming:
      break;
  }
  std::vector<bool> racing(record.settings.variants.size());
  for (const std::size_t winner : choice_of(record).winners) racing[winner] = true;
  racing.front() = true;
  return Field(record.cases.size(), racing);
}

std::optional<Tuning> tuning_of(const Record& record) {
  if (!record.settings.race) return std::nullopt;
  Choice choice = choice_of(record);
  Tuning tuning{.variants = record.settings.variants,
                .screened = pairs_in(first_field(record)),
                .left = pairs_in(choice.left),
                .winners = std::move(choice.winners),
                .choice = std::move(choice.means)};
  tuning.confirmations = confirmations_of(
      tuning.winners, means_of(record, confirming_from(record), std::numeric_limits<int>::max()));
  return tuning;
}

Record confirming_part(const Record& record) {
  const int confirming = confirming_from(record);
  const bool is_confirmed = count_launches(record) > confirming;
  Record part = part_of(record, is_confirmed ? confirming : 0, std::numeric_limits<int>::max());
  std::set<std::size_t> places{0};
  if (is_confirmed) {
    const std::vector<std::size_t> winners = choice_of(record).winners;
    places.insert(winners.begin(), winners.end());
  }
  Settings& settings = part.settings;
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    if (has_wrong_data(record, settings.variants[i].name)) places.insert(i);
  }
  keep_places(settings.variants, places);
  keep_places(settings.environment_in_force, places);
  keep_places(settings.software_in_force, places);
  settings.launches = settings.race->confirming;
  for (CaseResult& result : part.cases) keep_variants(result, places);
  summarise(part);
  return part;
}

}  // namespace linkgain
