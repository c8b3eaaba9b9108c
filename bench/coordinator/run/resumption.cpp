#include "linkgain/run/resumption.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/machines/machine_difference.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/run_directory.hpp"
#include "measurement.hpp"

namespace linkgain {
namespace {

constexpr const char* kStartAnew = "measure all of it anew, without --resume";

void require_same(const std::vector<MachineDifference>& differences) {
  if (differences.empty()) return;
  const MachineDifference& first = differences.front();
  throw UsageError(fmt::format("this is not what the run began with: {} was {} and is {}",
                               first.what, first.before, first.after),
                   kStartAnew);
}

/// Returns whether a variant was refused, other than one that another process might measure.
bool is_refused(const VariantResult& variant) {
  return variant.skipped && variant.skipped->reason == SkipReason::refused;
}

void forget_end(CaseResult& result) {
  result.stopped.reset();
  for (VariantResult& variant : result.variants) {
    if (!is_refused(variant)) variant.skipped.reset();
  }
}

/// Drops the samples of launches that were cut, by the variants that were up together.
void drop_cut_launches(const RunPlan& plan, CaseResult& result) {
  std::set<int> launches;
  for (const Sample& sample : result.samples) launches.insert(sample.launch);
  for (const int launch : launches) {
    const int rounds = rounds_in_launch(plan, result.definition, launch, plan.launches);
    for (const std::vector<int>& variants : variants_at_once(plan)) {
      if (is_measured(result, launch, variants, rounds)) continue;
      std::erase_if(result.samples, [&](const Sample& sample) {
        return sample.launch == launch &&
               std::ranges::find(variants, sample.variant) != variants.end();
      });
    }
  }
}

void number_samples(Record& record) {
  std::vector<Sample*> samples;
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) samples.push_back(&sample);
  }
  std::ranges::stable_sort(samples, {}, &Sample::sequence);
  int sequence = 0;
  for (Sample* const sample : samples) sample->sequence = sequence++;
}

/// Leaves out verdicts, which are found again at the end.
void leave_out_verdicts(Record& record) {
  drop_derived(record);
  std::erase_if(record.warnings, [](const Warning& warning) {
    return is(warning, WarningCode::operation_not_measured);
  });
}

/// Says that the earlier part's host was busy: the part that goes on is watched anew, and may say
/// the same of itself.
void tell_of_earlier_host(Record& record) {
  constexpr std::string_view kBefore = "before the run went on, ";
  for (Warning& warning : record.warnings) {
    if (!is(warning, WarningCode::host_load) && !is(warning, WarningCode::busy_processors))
      continue;
    if (!warning.text.starts_with(kBefore)) warning.text.insert(0, kBefore);
  }
}

/// Requires that the folder is this user's: the command line in it names programs and variables,
/// with which who wrote it has this user's rights.
void require_own(const std::filesystem::path& folder) {
  for (const std::string_view name : {RunDirectory::kJournal, RunDirectory::kRecord}) {
    const std::filesystem::path file = folder / name;
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) continue;
    if (found.st_uid == ::geteuid() || found.st_uid == 0) continue;
    throw UsageError(
        fmt::format("{} is another user's, and names what a run starts", file.string()),
        "copy that file alone into a new folder and go on there, if you trust whoever wrote it");
  }
}

}  // namespace

Record read_unfinished(const std::filesystem::path& folder) {
  require_own(folder);
  Record record = read_record(folder);
  if (record.settings.program) {
    throw UsageError(fmt::format("{} is of linkgain exec, which cannot go on", folder.string()));
  }
  if (record.status == RunStatus::complete) {
    throw UsageError(fmt::format("the run in {} is complete", folder.string()),
                     fmt::format("see linkgain report {}", folder.string()));
  }
  const auto were_given = [&](std::string_view part) {
    return std::ranges::any_of(record.settings.argv, [&](const std::string& word) {
      return word.find(part) != std::string::npos;
    });
  };
  if (were_given(kMasked)) {
    throw UsageError("the run was given a secret, which its record does not keep", kStartAnew);
  }
  constexpr std::string_view kNoText = "\xEF\xBF\xBD";  // U+FFFD
  if (were_given(kNoText)) {
    throw UsageError("the run was given bytes that are no text, which its record does not keep",
                     kStartAnew);
  }
  leave_out_verdicts(record);
  tell_of_earlier_host(record);
  record.status = RunStatus::incomplete;
  return record;
}

void require_same_settings(const Settings& earlier, const Settings& now) {
  Settings known = now;
  if (earlier.training && earlier.training->tokens_digest.empty() && known.training) {
    known.training->tokens_digest.clear();
  }
  require_same(differences_of_parts(earlier, known));
}

std::string digest_of_cases(const RunPlan& plan) {
  std::string names;
  for (const Case& c : plan.cases) names += case_name(c) + "\n";
  Digest digest;
  digest.add(names);
  return digest.text();
}

/// Requires the same cases: a file that options come from may have changed, and the other settings
/// do not hold what is in it.
void require_same_cases(const RunPlan& plan, const Record& earlier) {
  const auto refuse = [](const std::string& what) {
    throw UsageError(
        fmt::format("this is not what the run began with: {}", what),
        fmt::format("undo what changed in a file that its options name, or {}", kStartAnew));
  };
  auto place = plan.cases.begin();
  for (const CaseResult& result : earlier.cases) {
    const auto found = std::find(place, plan.cases.end(), result.definition);
    if (found == plan.cases.end()) {
      const bool is_planned = std::ranges::find(plan.cases, result.definition) != plan.cases.end();
      refuse(fmt::format("{} was one of its cases and {}", case_name(result.definition),
                         is_planned ? "has another place" : "is none now"));
    }
    place = std::next(found);
  }
  const std::string& digest = earlier.settings.cases_digest;
  if (!digest.empty() && digest != digest_of_cases(plan)) refuse("its cases are others now");
}

std::optional<Record> head_of_earlier_part(const Record& record) {
  if (record.cases.empty()) return std::nullopt;
  Record head;
  head.machine = record.machine;
  head.settings = record.settings;
  return head;
}

void require_same_job(const Record& earlier, int variant, const protocol::HelloReply& now) {
  if (earlier.machine.ranks.empty()) return;  // it ended before any job was up
  const auto place = static_cast<std::size_t>(variant);
  const Settings& settings = earlier.settings;
  Machine machine = earlier.machine;
  const std::vector<Software>& software = settings.software_in_force;
  if (place < software.size() && software[place] != Software{}) machine.software = software[place];
  require_same(differences_of_parts(machine, now.machine));
  if (place >= settings.environment_in_force.size()) return;
  const Environment& environment = settings.environment_in_force[place];
  if (!environment.empty()) require_same(differences_of_parts(environment, now.environment));
}

void take_in_force(Settings& settings, std::size_t variant, const protocol::HelloReply& now,
                   bool goes_on) {
  Environment& environment = settings.environment_in_force[variant];
  Software& software = settings.software_in_force[variant];
  if (!goes_on || environment.empty()) environment = now.environment;
  if (!goes_on || software == Software{}) software = now.machine.software;
}

void begin_part(const RunPlan& plan, Record& record, JournalWriter& journal,
                RunProgress& progress) {
  for (const Warning& warning : plan.warnings) {
    if (std::ranges::find(record.warnings, warning.text, &Warning::text) != record.warnings.end()) {
      continue;
    }
    record.warnings.push_back(warning);
    journal.write_warning(warning);
    progress.note("notice: " + warning.text);
  }
  journal.take_place();
}

std::vector<std::vector<int>> variants_at_once(const RunPlan& plan) {
  std::vector<std::vector<int>> groups;
  for (int variant = 0; variant < static_cast<int>(plan.variants.size()); ++variant) {
    if (groups.empty() || plan.schedule == Schedule::sequential) groups.emplace_back();
    groups.back().push_back(variant);
  }
  return groups;
}

int group_size(const RunPlan& plan, int first) {
  if (plan.schedule == Schedule::paired || plan.is_soak) return launches_at_once(plan);
  return plan.budget && first == 0 ? 1 : plan.launches;
}

bool is_measured(const CaseResult& result, int launch, const std::vector<int>& variants,
                 int rounds) {
  return std::ranges::all_of(variants, [&](int variant) {
    const VariantResult& own = result.variants[static_cast<std::size_t>(variant)];
    if (is_refused(own)) return true;
    const auto samples = std::ranges::count_if(result.samples, [&](const Sample& sample) {
      return sample.launch == launch && sample.variant == variant && !sample.unverified;
    });
    // Older records mark no samples.
    return rounds <= samples && (samples == 0 || own.verification);
  });
}

void prepare_to_go_on(const RunPlan& plan, Record& record) {
  std::vector<CaseResult> earlier = std::exchange(record.cases, {});
  for (const Case& c : plan.cases) {
    const auto found = std::ranges::find(earlier, c, &CaseResult::definition);
    CaseResult& result = record.cases.emplace_back();
    if (found != earlier.end()) {
      result = std::move(*found);
      forget_end(result);
      drop_cut_launches(plan, result);
      if (result.samples.empty()) summarise(result);  // a record's leaves out such cases
      continue;
    }
    result.definition = c;
    for (const Variant& variant : plan.variants) {
      result.variants.emplace_back().variant = variant.name;
    }
  }
  number_samples(record);
  summarise(record);
}

}  // namespace linkgain
