#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"

/// A run that was ended before its time and goes on: what it measured stands, what it was measuring
/// is measured again.
namespace linkgain {

/// Reads the journal or record of an unfinished run in `folder`. Warnings that are found anew at
/// the end of every run are left out, and what was said of the host says of which part. Throws
/// UsageError where there is none, where it is complete or no run of `linkgain run`, and where it
/// cannot go on because its record hides a secret.
Record read_unfinished(const std::filesystem::path& folder);

/// Throws UsageError that says what differs, if something that decides what is measured does. A
/// token file's digest is compared where the earlier settings have one.
void require_same_settings(const Settings& earlier, const Settings& now);

/// Digests what is to be measured, for Settings::cases_digest.
std::string digest_of_cases(const RunPlan& plan);

/// Throws UsageError where a case of the earlier part is none of the plan's, or has another place
/// among them, or where these are not all that the run began with, which older records do not tell.
void require_same_cases(const RunPlan& plan, const Record& earlier);

/// Returns machine and settings of a record that has cases already; nothing if it has none.
std::optional<Record> head_of_earlier_part(const Record& record);

/// Throws UsageError that says what differs, where a job of the variant has not the hardware, the
/// software or the variables in force that the earlier part had. Process ids, and rates of copies
/// that a run measures itself, may differ.
void require_same_job(const Record& earlier, int variant, const protocol::HelloReply& now);

/// Enters variables and software of the variant's job into the settings. Where the run goes on,
/// what its earlier part had stands: a job that is accepted has the same.
void take_in_force(Settings& settings, std::size_t variant, const protocol::HelloReply& now,
                   bool goes_on);

/// Enters what the plan warns of into the record, if it is not there yet, and into the journal,
/// which then takes its place. To be called once a job is accepted; again it does nothing.
void begin_part(const RunPlan& plan, Record& record, JournalWriter& journal, RunProgress& progress);

/// Returns the variants whose jobs are up together in a launch: all, or one after the other each.
std::vector<std::vector<int>> variants_at_once(const RunPlan& plan);

/// Returns how many launches from `first` on are started in one order. Where variants are not up
/// together, that is all: in one shuffled_order() no neighbour falls in step with them. With a
/// budget how many there is time for is known when each variant has had one.
int group_size(const RunPlan& plan, int first);

/// Returns whether `launch` of the case holds `rounds` samples, of data that were checked, of each
/// of these variants that can be measured at all.
bool is_measured(const CaseResult& result, int launch, const std::vector<int>& variants,
                 int rounds);

/// Brings the cases of an earlier part, which require_same_cases() accepts, into the plan's order,
/// with those that it did not come to. Launches that were cut lose their samples; the others are
/// numbered anew, in their order. To be called before the journal is written anew, whose cases have
/// the plan's places.
void prepare_to_go_on(const RunPlan& plan, Record& record);

}  // namespace linkgain
