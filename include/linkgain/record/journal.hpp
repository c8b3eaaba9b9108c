#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

class Digest;

/// The growing form of a record: one JSON line for the head, then one for each finished case with
/// its samples, each synced to disk, so that a crash loses at most the case in flight. A later head
/// replaces an earlier one, and so does a case of the same index, or adds samples to it. Cases come
/// as they are measured, with what the run took and saw of neighbours so far. Each line ends in a
/// digest of the file up to there. What cannot be written, as on a full disk, stops no run:
/// failure() tells of it, and nothing is written from then on.
class JournalWriter {
 public:
  /// Creates the file; throws UsageError where it cannot.
  explicit JournalWriter(const std::filesystem::path& path);
  /// Begins with what a record holds, beside the file that is there: a journal has a head from the
  /// first moment on, and one of a run that goes on has what was measured. Of a record without
  /// cases it takes its place at once, of any other by take_place(): until then what the folder
  /// holds is as it was, and stays so where this ends before. Throws UsageError where it cannot be
  /// made, or where what was measured cannot be written.
  JournalWriter(const std::filesystem::path& path, const Record& earlier);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Takes the place of the file that is there. Does nothing where it has it, or none could be
  /// written.
  void take_place();

  /// Writes machine, settings, and what the run took and saw so far; cases and warnings of `record`
  /// are not written.
  void write_head(const Record& record);
  /// Writes the latest state of case `index` with all its samples; a later line replaces an earlier
  /// one.
  void write_case(int index, const CaseResult& result);
  /// Writes the same of the record's case, with what the run took and saw so far, where the samples
  /// that were written before stand as they were: only later ones are written, so that a journal
  /// grows with the samples, however many launches they come in.
  void extend_case(const Record& record, int index);
  void write_program_run(const ProgramRun& run);
  void write_warning(const Warning& warning);

  /// Returns the first thing that could not be written; absent while all was.
  const std::optional<Warning>& failure() const { return failure_; }

 private:
  void append(const std::string& line);
  void leave_place();
  void lose(const std::string& why, const std::string& advice);

  int descriptor_ = -1;
  std::filesystem::path place_;  ///< to be taken; empty where it was, or never will be
  std::unique_ptr<Digest> digest_;
  std::map<int, std::size_t> samples_;  ///< written, by case
  std::optional<Warning> failure_;
};

/// Reads what the complete lines of a journal hold; a cut last line is dropped. Throws UsageError
/// where not even the head is there, or a complete line is no line of a journal.
Record parse_journal(std::string_view text, const std::string& origin);

/// Reads a record or a journal, or of a run's directory the journal, which only an unfinished run
/// leaves, else the record. Checks the schema first; throws UsageError that says where the document
/// departs from it. A journal gives what its complete lines hold.
Record read_record(const std::filesystem::path& path);

}  // namespace linkgain
