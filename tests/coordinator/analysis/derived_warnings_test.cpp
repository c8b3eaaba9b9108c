// Warnings and exit codes of a record that was read are what its samples give, whatever it claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/record/warning.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using enum WarningCode;
using testing::Contains;
using testing::Not;

constexpr int kSampledLaunches = 6;
constexpr int kSampledRounds = 8;
constexpr int kSoakLaunches = 40;

void add_samples(Record& record, int launches, int rounds) {
  int sequence = 0;
  for (CaseResult& result : record.cases) {
    for (int launch = 0; launch < launches; ++launch) {
      for (int variant = 0; variant < 2; ++variant) {
        for (int round = 0; round < rounds; ++round) {
          Sample& sample = result.samples.emplace_back();
          sample.sequence = sequence++;
          sample.variant = variant;
          sample.launch = launch;
          sample.round = round;
          const Seconds time{(1.0 + variant) * (1e-3 + 1e-8 * launch)};
          const std::size_t ranks = record.settings.program ? 1 : 2;
          sample.times.assign(ranks, time);
          sample.health.resize(ranks);
          if (!record.settings.program) {
            for (Health& health : sample.health) health.clock_event_reasons = 0;
          }
        }
      }
    }
  }
}

/// Returns a run on two GPUs joined by NVLink, of whose samples and counters nothing is to be said.
Record good_run() {
  Record record = counted_record(1.0, 0.0);
  record.machine.ranks = {{0, "vm", 1, "", GpuInfo{}, {}}, {1, "vm", 2, "", GpuInfo{}, {}}};
  record.settings.launches = kSampledLaunches;
  add_samples(record, kSampledLaunches, kSampledRounds);
  return record;
}

/// Returns a soak with a launch a minute.
Record good_soak() {
  Record record = good_run();
  for (CaseResult& result : record.cases) result.samples.clear();
  add_samples(record, kSoakLaunches, kFewestSamples);
  record.settings.launches = kSoakLaunches;
  for (int i = 0; i < kSoakLaunches; ++i) record.launch_begins_s.push_back(60.0 * i);
  return record;
}

/// Returns six runs of a program with P2P and as many without.
Record good_program() {
  Record record = good_run();
  record.settings.program.emplace().command = {"train"};
  record.cases.resize(1);
  CaseResult& result = record.cases[0];
  result.definition = parse_case_name("exec/time");
  result.samples.clear();
  for (VariantResult& variant : result.variants) variant.verification.reset();
  add_samples(record, kSampledLaunches, 1);
  for (int round = 1; round <= kSampledLaunches; ++round) {
    for (const char* variant : {"p2p", "host"}) {
      const bool p2p = record.settings.variants[0].name == variant;
      record.runs.push_back({.variant = variant,
                             .round = round,
                             .seconds = 1.0,
                             .evidence = evidence_of(p2p ? kGigabyte : 0)});
    }
  }
  return record;
}

template <typename Change>
void change_samples(Record& record, Change change) {
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) change(sample);
  }
}

void set_events(Record& record, std::optional<std::uint64_t> events) {
  change_samples(record, [&](Sample& sample) {
    for (Health& health : sample.health) health.clock_event_reasons = events;
  });
}

void slow(Sample& sample, double factor) {
  for (std::optional<Seconds>& time : sample.times) time->value *= factor;
}

void scatter(Record& record) {
  change_samples(record, [](Sample& sample) {
    slow(sample, 1.0 + 0.5 * (sample.launch % 2) * sample.variant);
  });
}

template <typename Change>
void change_runs(Record& record, const char* variant, Change change) {
  for (ProgramRun& run : record.runs) {
    if (run.variant == variant) change(run.evidence);
  }
}

void set_bytes(Record& record, const char* variant, std::optional<std::int64_t> bytes) {
  change_runs(record, variant, [&](RunEvidence& run) { run = evidence_of(bytes); });
}

void set_health(Record& record, const char* variant, const HealthSummary& health) {
  change_runs(record, variant, [&](RunEvidence& run) { run.gpus[0].health = health; });
}

struct Situation {
  WarningCode code;
  std::function<Record()> record;
  std::function<void(Record&)> change;
};

std::vector<Situation> situations_of_data_and_paths() {
  return {
      {wrong_data, good_run, set_wrong},
      {wrong_path, good_run,
       [](Record& record) { record.cases[2].variants[1].evidence = traffic_evidence(1.0); }},
      {same_path, good_run, [](Record& record) { set_path(record, 0, Path::host_memory); }},
      {same_path, good_program,
       [](Record& record) {
         set_bytes(record, "p2p", 0);
         record.machine.links = {{.from = 0, .to = 1, .p2p = false, .nvlink = false}};
       }},
      {evidence_missing, good_run,
       [](Record& record) { record.cases[2].variants[0].evidence.reset(); }},
      {evidence_not_judged, good_run,
       [](Record& record) {
         TrafficEvidence& evidence = *record.cases[2].variants[0].evidence;
         evidence.expected.reset();
         evidence.judged = false;
         evidence.reason = "its log named no algorithm";
       }},
      {links_disturbed, good_run,
       [](Record& record) { record.cases[2].variants[0].evidence = traffic_evidence(1.5); }},
      {inherited_variable, good_run,
       [](Record& record) {
         record.settings.environment_in_force[0] = {{"NCCL_ALGO", "Ring"}};
       }},
      {not_verified, good_run,
       [](Record& record) { record.cases[0].samples.front().unverified = true; }},
      {nothing_measured, good_run,
       [](Record& record) {
         for (CaseResult& result : record.cases) {
           result.samples.clear();
           take_times(result, "out of memory");
         }
       }},
  };
}

std::vector<Situation> situations_of_times_and_health() {
  return {
      {not_converged, good_run, scatter},
      {one_launch, good_run,
       [](Record& record) {
         for (CaseResult& result : record.cases) {
           std::erase_if(result.samples, [](const Sample& sample) { return sample.launch > 0; });
         }
       }},
      {level_change, good_run,
       [](Record& record) {
         change_samples(record, [](Sample& sample) {
           if (sample.round >= kSampledRounds / 2 && sample.launch == 0) slow(sample, 2.0);
         });
       }},
      {budget_used_up, good_run,
       [](Record& record) {
         scatter(record);
         record.settings.budget = Seconds{10.0};
         record.settings.launches = kSampledLaunches + 2;
         record.cases[0].stopped = StopReason::out_of_time;
       }},
      {losses_differ, good_run,
       [](Record& record) {
         record.settings.training = TrainingPlan{};
         record.cases[0].definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
         for (Sample& sample : record.cases[0].samples) sample.loss = 10.0 + sample.variant;
       }},
      {unhealthy_samples, good_run, [](Record& record) { set_events(record, 0x20); }},
      {power_capped, good_run, [](Record& record) { set_events(record, 0x04); }},
      {link_errors, good_run,
       [](Record& record) {
         record.link_errors = {.readings = 2,
                               .counters = {{{0, ErrorKind::nvlink_crc_errors, 3, 1}, 40, 12}},
                               .grown = {}};
       }},
      {soak_drift, good_soak,
       [](Record& record) {
         change_samples(record, [](Sample& sample) {
           if (sample.launch >= kSoakLaunches / 2 && sample.variant == 0) slow(sample, 1.25);
         });
       }},
      {health_not_measured, good_run,
       [](Record& record) {
         record.settings.require_healthy = true;
         set_events(record, std::nullopt);
       }},
      {neighbours_not_looked_for, good_run,
       [](Record& record) {
         record.settings.require_healthy = true;
         record.neighbours = Neighbours{.not_looked = "no NVML"};
       }},
      {other_hosts_not_looked_at, good_run,
       [](Record& record) {
         record.settings.require_healthy = true;
         record.neighbours = Neighbours{.looks = 1, .not_looked = "only this host"};
         record.machine.ranks[1].host = "another";
       }},
  };
}

std::vector<Situation> situations_of_programs() {
  return {
      {exec_path, good_program, [](Record& record) { set_bytes(record, "host", kGigabyte / 2); }},
      {exec_no_change, good_program, [](Record& record) { set_bytes(record, "host", kGigabyte); }},
      {exec_same_bytes, good_program,
       [](Record& record) {
         set_bytes(record, "host", kGigabyte);
         record.settings.variants[1].environment = {{"VLLM_NOP", "1"}};
         record.settings.environment_in_force = {};
         change_samples(record, [](Sample& sample) { slow(sample, 1.0 / (1.0 + sample.variant)); });
       }},
      {exec_no_nvlink, good_program, [](Record& record) { set_bytes(record, "p2p", 0); }},
      {exec_unseen, good_program, [](Record& record) { set_bytes(record, "p2p", std::nullopt); }},
      {exec_neighbours, good_program,
       [](Record& record) {
         record.runs[0].evidence.neighbours.seen = {{.gpu = 0, .after_s = 1.0}};
       }},
      {exec_others_unknown, good_program,
       [](Record& record) { record.runs[0].evidence.neighbours.not_looked = "another namespace"; }},
      {exec_throttled, good_program,
       [](Record& record) { set_health(record, "host", health_with(0x20, 3)); }},
      {exec_power_capped, good_program,
       [](Record& record) {
         set_health(record, "p2p", health_with(0x04, 9));
         set_health(record, "host", health_with(0, 10));
       }},
      {exec_no_nccl, good_program,
       [](Record& record) {
         for (const char* variant : {"p2p", "host"}) {
           change_runs(record, variant, [](RunEvidence& run) { run.nccl.clear(); });
         }
       }},
      {exec_nccl_not_replaced, good_program,
       [](Record& record) { record.settings.variants[1].nccl = "/opt/new/libnccl.so.2"; }},
      {exec_nccl_differs, good_program,
       [](Record& record) {
         change_runs(record, "host",
                     [](RunEvidence& run) { run.nccl[0].path = "/opt/wheel/libnccl.so.2"; });
       }},
      {p2p_forbidden, good_program,
       [](Record& record) {
         record.settings.environment_in_force[0] = {{"NCCL_P2P_DISABLE", "1"}};
       }},
  };
}

std::vector<Situation> situations_of_programs_numbers() {
  return {
      {few_digits, good_program,
       [](Record& record) {
         change_samples(record, [](Sample& sample) { sample.resolution = 0.1; });
       }},
      {budget_used_up, good_program,
       [](Record& record) {
         scatter(record);
         record.settings.budget = Seconds{10.0};
         record.settings.launches = kSampledLaunches + 2;
         record.cases[0].stopped = StopReason::out_of_time;
       }},
      {few_runs, good_program,
       [](Record& record) {
         std::erase_if(record.cases[0].samples,
                       [](const Sample& sample) { return sample.launch >= 3; });
         std::erase_if(record.runs, [](const ProgramRun& run) { return run.round > 3; });
       }},
      {control_differs, good_program,
       [](Record& record) { record.settings.variants[1].is_control = true; }},
      {matches_differ, good_program,
       [](Record& record) {
         change_samples(record, [](Sample& sample) { sample.operations = 1 + sample.variant; });
       }},
  };
}

std::vector<Situation> all_situations() {
  std::vector<Situation> all = situations_of_data_and_paths();
  for (auto some : {situations_of_times_and_health(), situations_of_programs(),
                    situations_of_programs_numbers()}) {
    for (Situation& each : some) all.push_back(std::move(each));
  }
  return all;
}

/// Returns a warning of each code that no run gives, as somebody may write them into a record.
std::vector<Warning> made_up() {
  std::vector<Warning> warnings;
  for (const WarningRow& row : warning_rows()) {
    if (row.origin != WarningOrigin::run) {
      warnings.push_back(warning_of(row.code, "made up"));
    }
  }
  return warnings;
}

TEST(DerivedWarnings, AreOfSituationsThatThisTestHas) {
  std::set<std::string> tested;
  for (const Situation& each : all_situations()) tested.insert(name_of(each.code));
  for (const WarningRow& row : warning_rows()) {
    EXPECT_EQ(tested.contains(std::string(row.name)), row.origin == WarningOrigin::derived)
        << row.name;
  }
  for (const auto& good : {good_run, good_program}) {
    Record record = good();
    EXPECT_EQ(judge(record), ExitCode::success);
    EXPECT_THAT(codes(record), testing::IsEmpty());
  }
}

TEST(DerivedWarnings, AreThoseOfTheSamplesWhateverARecordClaims) {
  for (const Situation& each : all_situations()) {
    const std::string code = name_of(each.code);
    Record record = each.record();
    judge(record);
    EXPECT_THAT(codes(record), Not(Contains(code))) << "nothing is wrong yet";
    each.change(record);
    const Warning lost = warning_of(job_lost, "known to the run alone");
    record.warnings = {lost};
    const ExitCode exit_code = judge(record);
    EXPECT_THAT(codes(record), Contains(code));
    for (std::vector<Warning> claimed : {std::vector<Warning>{}, made_up()}) {
      claimed.push_back(lost);
      Record edited = record;
      edited.warnings = claimed;
      edited.exit_code = 5;
      Record read = parse_record(to_json(edited), "edited");
      EXPECT_EQ(judge(read), exit_code) << code;
      EXPECT_EQ(read.exit_code, static_cast<int>(exit_code)) << code;
      EXPECT_EQ(read.warnings, record.warnings) << code;
      EXPECT_EQ(read.status, record.status) << code;
    }
  }
}

TEST(DerivedWarnings, LeaveTheStatusThatASignalGave) {
  Record record = good_run();
  record.status = RunStatus::interrupted;
  record.exit_code = kSignalExitBase + 2;
  EXPECT_EQ(judge(record), ExitCode::incomplete);
  EXPECT_EQ(record.exit_code, kSignalExitBase + 2);
  record.status = RunStatus::complete;
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_EQ(record.exit_code, 0) << "it was not ended by one";
}

/// Asks nothing more of a run that goes on.
TEST(DerivedWarnings, OfAJournalDoNotAskForMore) {
  Record record = good_run();
  scatter(record);
  record.cases[0].samples.front().unverified = true;
  record.status = RunStatus::unfinished;
  EXPECT_EQ(judge(record), ExitCode::incomplete);
  EXPECT_THAT(codes(record), testing::IsEmpty());
  set_wrong(record);
  judge(record);
  EXPECT_THAT(codes(record), testing::ElementsAre("wrong-data"));
}

}  // namespace
}  // namespace linkgain::test
