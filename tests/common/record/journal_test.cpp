#include "linkgain/record/journal.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <regex>

#include "linkgain/base/errors.hpp"
#include "record_documents.hpp"
#include "support/full_disk.hpp"
#include "support/full_record.hpp"
#include "support/impossible_samples.hpp"
#include "support/scratch_folder.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Returns the state of case 0 after its first launch, which the final one replaces.
CaseResult early_state(const Record& record) {
  CaseResult early = record.cases[0];
  early.stopped = StopReason::interrupted;
  return early;
}

/// Takes little of everything: the journal is read once for each of its bytes.
Record short_record() {
  Record record = full_record();
  record.machine.ranks = {record.machine.ranks[2]};
  record.machine.ranks[0].rank = 0;
  record.machine.links.clear();
  record.settings.variants.resize(1);
  record.settings.environment_in_force.resize(1);
  for (CaseResult& result : record.cases) {
    result.variants.resize(1);
    result.samples.resize(1);
  }
  return as_read(record);
}

/// Returns the text of a journal with two states of case 0, as a run writes it.
std::string written_journal(const Record& record) {
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  journal.write_warning(record.warnings[0]);
  journal.write_case(0, early_state(record));
  journal.write_case(1, record.cases[1]);
  journal.write_case(0, record.cases[0]);
  journal.write_warning(record.warnings[1]);
  return read_text(folder / "journal.jsonl");
}

/// Returns what a journal of that many complete lines holds.
Record expected_after(const Record& record, int lines) {
  Record expected;
  expected.status = RunStatus::unfinished;
  expected.started = record.started;
  expected.wall_seconds = record.wall_seconds;
  expected.time_spent = record.time_spent;
  expected.evidence_cost = record.evidence_cost;
  expected.machine = record.machine;
  expected.settings = record.settings;
  expected.neighbours = record.neighbours;
  expected.link_errors = record.link_errors;
  expected.launch_begins_s = record.launch_begins_s;
  if (lines >= 2) expected.warnings = {record.warnings[0]};
  if (lines >= 3) {
    expected.cases = {early_state(record)};
    expected.cases[0].samples[0].sequence = 0;
  }
  if (lines >= 4) {
    expected.cases.push_back(record.cases[1]);
    expected.cases[1].samples[0].sequence = 1;
  }
  if (lines >= 5) {
    expected.cases[0] = record.cases[0];
    expected.cases[0].samples[0].sequence = 2;
  }
  if (lines >= 6) expected.warnings.push_back(record.warnings[1]);
  return expected;
}

std::string journal_refusal(const std::string& text) {
  return refusal_of([&] { parse_journal(text, "a.jsonl"); });
}

/// Makes a journal of the time before digests, which may be changed.
std::string without_line_digests(const std::string& text) {
  return std::regex_replace(text, std::regex(",\"digest\": \"[^\"]*\""), "");
}

/// Writes a case's samples of three launches, in a line each.
std::string extended_journal(const Record& record, const CaseResult& result) {
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  Record growing = record;
  for (const std::size_t size : {4U, 9U, 16U}) {
    growing.cases[0] = result;
    growing.cases[0].samples.resize(size);
    summarise(growing.cases[0]);
    journal.extend_case(growing, 0);
  }
  return read_text(folder / "journal.jsonl");
}

TEST(Journal, LinesThatAddSamplesGiveAllOfThem) {
  Record record = full_record();
  CaseResult result = record.cases[0];
  ASSERT_GE(result.samples.size(), 16U);
  result.samples.resize(16);
  summarise(result);
  const std::string text = extended_journal(record, result);
  EXPECT_EQ(text.find("samples_before"), text.find("samples_before\":4"));
  const Record read = parse_journal(text, "");
  ASSERT_EQ(read.cases.size(), 1U);
  ASSERT_EQ(read.cases[0].samples.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(read.cases[0].samples[i].times, result.samples[i].times) << i;
    EXPECT_EQ(read.cases[0].samples[i].sequence, static_cast<int>(i));
  }
}

/// Replaces all by a later whole line, in which stands what was marked late.
TEST(Journal, AWholeLineReplacesThoseThatAdded) {
  Record record = full_record();
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  CaseResult& result = record.cases[0];
  journal.extend_case(record, 0);
  result.samples[2].disturbed = true;
  journal.write_case(0, result);
  journal.extend_case(record, 0);
  const Record read = parse_journal(read_text(folder / "journal.jsonl"), "");
  ASSERT_EQ(read.cases[0].samples.size(), result.samples.size());
  EXPECT_TRUE(read.cases[0].samples[2].disturbed);
}

TEST(Journal, RefusesALineThatAddsToSamplesThatAreNotThere) {
  const Record record = full_record();
  CaseResult result = record.cases[0];
  std::string text = extended_journal(record, result);
  text = without_line_digests(text);
  const std::size_t number = text.find("samples_before\":4");
  ASSERT_NE(number, std::string::npos);
  text.replace(number, std::string("samples_before\":4").size(), "samples_before\":5");
  EXPECT_THAT(journal_refusal(text), HasSubstr("line 3"));
}

/// A journal of heads and cases, each with what the run took and saw until then.
class TimedJournal : public testing::Test {
 protected:
  void SetUp() override {
    JournalWriter journal(folder_ / "journal.jsonl");
    journal.write_head(head_);
    record_.wall_seconds = 20.0;
    record_.time_spent.value().sampling_s = 8.0;
    record_.evidence_cost.value().counters_s = 1.5;
    record_.neighbours.value().looks += 5;
    journal.extend_case(record_, 0);
    journal.write_case(1, record_.cases[1]);
    journal.write_warning(record_.warnings[0]);
  }
  std::string text() const { return read_text(folder_ / "journal.jsonl"); }

  const Record head_ = full_record();
  Record record_ = full_record();
  const ScratchFolder folder_;
};

TEST_F(TimedJournal, TellsTheTimeUntilItsLastLineThatHasOne) {
  const Record first = parse_journal(text().substr(0, text().find('\n') + 1), "");
  EXPECT_EQ(first.wall_seconds, head_.wall_seconds);
  EXPECT_EQ(first.time_spent, head_.time_spent);
  EXPECT_EQ(first.evidence_cost, head_.evidence_cost);
  EXPECT_EQ(first.neighbours, head_.neighbours);
  const Record whole = parse_journal(text(), "");
  EXPECT_EQ(whole.wall_seconds, 20.0);
  EXPECT_EQ(whole.time_spent, record_.time_spent);
  EXPECT_EQ(whole.evidence_cost, record_.evidence_cost);
  EXPECT_EQ(whole.neighbours, record_.neighbours);
}

TEST_F(TimedJournal, OfARunThatGoesOnBeginsWithTheEarlierTime) {
  const std::string before = text();
  { const JournalWriter next(folder_ / "journal.jsonl", parse_journal(before, "")); }
  EXPECT_EQ(text(), before) << "it did not go on";
  JournalWriter(folder_ / "journal.jsonl", parse_journal(before, "")).take_place();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "journal.jsonl.new"));
  const Record read = parse_journal(text(), "");
  EXPECT_EQ(read.wall_seconds, 20.0);
  EXPECT_EQ(read.time_spent, record_.time_spent);
  EXPECT_EQ(read.evidence_cost, record_.evidence_cost);
  EXPECT_EQ(read.neighbours, record_.neighbours);
}

TEST_F(TimedJournal, WhoseFolderIsGoneCostsNoRun) {
  std::filesystem::create_directory(folder_ / "run");
  JournalWriter next(folder_ / "run/journal.jsonl", parse_journal(text(), ""));
  std::filesystem::remove_all(folder_ / "run");
  next.take_place();
  ASSERT_TRUE(next.failure());
  EXPECT_EQ(next.failure()->code, "journal-lost");
}

TEST_F(TimedJournal, OfAnOlderVersionIsReadWithoutTimes) {
  static const std::regex times(",\"wall_s\":[^,]*,\"time_spent\":\\{[^}]*\\}");
  const std::string older = std::regex_replace(without_line_digests(text()), times, "");
  ASSERT_EQ(older.find("wall_s"), std::string::npos);
  const Record read = parse_journal(older, "");
  EXPECT_EQ(read.wall_seconds, std::nullopt);
  EXPECT_EQ(read.time_spent, std::nullopt);
  EXPECT_EQ(read.cases.size(), 2U);
}

TEST_F(TimedJournal, WithATimeThatCannotBeIsRefused) {
  for (const auto& [own, other] : {std::pair{"\"wall_s\":20.0", "\"wall_s\":-1"},
                                   std::pair{"\"wall_s\":20.0", "\"wall_s\":null"},
                                   std::pair{"\"sampling_s\":8.0", "\"sampling_s\":-8"},
                                   std::pair{"\"sampling_s\":8.0", "\"sampled_s\":8.0"}}) {
    std::string changed = without_line_digests(text());
    ASSERT_NE(changed.find(own), std::string::npos) << own;
    changed.replace(changed.find(own), std::string(own).size(), other);
    EXPECT_THAT(journal_refusal(changed), HasSubstr("line 2")) << other;
  }
}

/// Tries samples that cannot be within a line, or with those of the lines before.
TEST(Journal, RefusesSamplesThatCannotBeAndNamesTheCase) {
  const Record record = full_record();
  const std::string name = case_name(record.cases[0].definition);
  std::string text = without_line_digests(extended_journal(record, record.cases[0]));
  const std::size_t begin = text.find("{\"index\"");
  const Json line = Json::parse(text.substr(begin, text.find('\n', begin) - begin));
  for (const auto& [what, column, value] : impossible_columns(line["samples"])) {
    Json changed = line;
    changed["samples"][column] = value;
    EXPECT_THAT(journal_refusal(text.substr(0, begin) + changed.dump() + "\n"), HasSubstr(name))
        << what;
  }
  const std::size_t second = text.find("{\"index\"", begin + 1);
  Json again = Json::parse(text.substr(second, text.find('\n', second) - second));
  again["samples"] = line["samples"];
  EXPECT_THAT(journal_refusal(text.substr(0, second) + again.dump() + "\n"),
              AllOf(HasSubstr(name), HasSubstr("is there twice")));
}

/// Cuts around the ends of lines at each byte, within them at every 61st.
TEST(Journal, CutAnywhereGivesWhatItsCompleteLinesHold) {
  const Record record = short_record();
  const std::string text = written_journal(record);
  ASSERT_EQ(std::ranges::count(text, '\n'), 6);
  int lines = 0;
  Record expected;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    if (size > 0 && text[size - 1] == '\n') expected = expected_after(record, ++lines);
    constexpr std::size_t kStep = 61;
    const bool near_end =
        text.substr(size - std::min<std::size_t>(size, 2), 4).find('\n') != std::string::npos;
    if (!near_end && size % kStep != 0) continue;
    const std::string_view cut = std::string_view(text).substr(0, size);
    if (lines == 0) {
      ASSERT_THROW(parse_journal(cut, ""), UsageError) << size;
    } else {
      ASSERT_TRUE(same(parse_journal(cut, ""), expected)) << size << " bytes, line " << lines;
    }
  }
  EXPECT_EQ(lines, 6);
}

TEST(Journal, OfSeveralHeadsTheLastCounts) {
  Record record = full_record();
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  journal.write_case(0, record.cases[0]);
  record.settings.environment_in_force[1] = {{"NCCL_P2P_DISABLE", "1"}};
  journal.write_head(record);
  const Record back = read_record(folder / "journal.jsonl");
  EXPECT_TRUE(same(back.settings, record.settings));
  EXPECT_EQ(back.cases.size(), 1U);
}

TEST(Journal, IsOnDiskLineByLine) {
  const Record record = full_record();
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  EXPECT_THAT(read_text(folder / "journal.jsonl"), StartsWith("{\"head\":"));
  const Record back = read_record(folder / "journal.jsonl");
  EXPECT_TRUE(same(back.machine, record.machine));
  EXPECT_EQ(back.status, RunStatus::unfinished);
}

TEST(Journal, RefusesGarbageAndNamesTheLine) {
  const std::string text = written_journal(full_record());
  const std::string head = text.substr(0, text.find('\n') + 1);
  for (const char* garbage : {"", "garbage", "{\"head\"", "{}", "[]", "7", "{\"case\":{}}",
                              "{\"warning\":{\"code\":\"a\",\"text\":\"\",\"advice\":\"\"}}",
                              "{\"index\":-1,\"case\":{},\"samples\":{}}",
                              "{\"warning\":{\"code\":1,\"text\":\"\",\"advice\":\"\"}}"}) {
    EXPECT_THAT(journal_refusal(head + garbage + "\n"),
                AllOf(StartsWith("a.jsonl: "), HasSubstr("line 2")))
        << garbage;
    EXPECT_EQ(journal_refusal(head + garbage), "accepted") << "a line cut short: " << garbage;
  }
  EXPECT_THAT(journal_refusal(text.substr(head.size())), HasSubstr("line"));
  EXPECT_THAT(journal_refusal("{\"head\":{\"schema\":\"linkgain.record/3\"}}\n"),
              AllOf(HasSubstr("linkgain.record/3"), HasSubstr("linkgain.record/1")));
}

TEST(Journal, HasCasesInTheOrderOfTheRunHoweverTheyWereMeasured) {
  const Record record = full_record();
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  journal.write_head(record);
  journal.write_case(1, record.cases[1]);
  const Record one = read_record(folder / "journal.jsonl");
  ASSERT_EQ(one.cases.size(), 1U) << "of the other nothing is known yet";
  EXPECT_EQ(one.cases[0].definition, record.cases[1].definition);
  EXPECT_EQ(one.cases[0].samples.size(), record.cases[1].samples.size());
  journal.write_case(0, record.cases[0]);
  const Record both = read_record(folder / "journal.jsonl");
  ASSERT_EQ(both.cases.size(), 2U);
  EXPECT_EQ(both.cases[0].definition, record.cases[0].definition);
}

TEST(Journal, RefusesACaseThatNoRunHas) {
  const std::string text = without_line_digests(written_journal(full_record()));
  const auto with_index = [&text](const std::string& index) {
    std::string changed = text;
    const std::string own = "\"index\":0";
    return changed.replace(changed.find(own), own.size(), "\"index\":" + index);
  };
  EXPECT_THAT(journal_refusal(with_index("-1")), HasSubstr("[index]"));
  EXPECT_THAT(journal_refusal(with_index("100000")), HasSubstr("[index]"));
  EXPECT_THAT(journal_refusal(with_index("18446744073709551615")), HasSubstr("whole number"));
}

TEST(Journal, CannotBeMadeWhereThereIsNoDirectory) {
  EXPECT_THROW(JournalWriter("/no/such/folder/journal.jsonl"), UsageError);
}

TEST(Journal, FindsEveryByteThatChanged) {
  const std::string text = written_journal(short_record());
  std::mt19937 random(1);
  for (int flip = 0; flip < 250; ++flip) {
    std::string changed = text;
    const std::size_t place = random() % (text.size() - 1);  // the last one ends the last line
    changed[place] = static_cast<char>(changed[place] ^ (1 << (random() % 8)));
    EXPECT_NE(journal_refusal(changed), "accepted") << "byte " << place;
  }
}

TEST(Journal, FindsALineThatIsMissing) {
  const std::string text = written_journal(short_record());
  const std::size_t second = text.find('\n') + 1;
  const std::size_t third = text.find('\n', second) + 1;
  EXPECT_THAT(journal_refusal(text.substr(0, second) + text.substr(third)), HasSubstr("digest"));
}

TEST(Journal, OfADiskThatIsFullTellsOnce) {
  const ScratchFolder folder;
  JournalWriter journal(folder / "journal.jsonl");
  EXPECT_FALSE(journal.failure());
  const Record record = full_record();
  const FullDisk full(16);
  EXPECT_NO_THROW(journal.write_head(record));
  ASSERT_TRUE(journal.failure());
  EXPECT_EQ(journal.failure()->code, "journal-lost");
  EXPECT_NO_THROW(journal.write_case(0, record.cases[0]));
}

TEST(Journal, OfADiskThatIsFullFromTheStartStopsNoRunButOneThatGoesOn) {
  const ScratchFolder folder;
  Record record = full_record();
  {
    const FullDisk full(16);
    EXPECT_THROW(JournalWriter(folder / "journal.jsonl", record), UsageError);
    for (CaseResult& result : record.cases) result.samples.clear();
    const JournalWriter journal(folder / "journal.jsonl", record);
    EXPECT_TRUE(journal.failure());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Journal, DoesNotFollowALink) {
  const ScratchFolder folder;
  std::ofstream(folder / "target") << "precious";
  std::filesystem::create_symlink(folder / "target", folder / "journal.jsonl");
  EXPECT_THROW(JournalWriter(folder / "journal.jsonl"), UsageError);
  EXPECT_EQ(read_text(folder / "target"), "precious");
}

TEST(Journal, WithoutALineSaysThatTheRunHadNone) {
  const ScratchFolder folder;
  std::ofstream(folder / "journal.jsonl").flush();
  EXPECT_THAT(refusal_of([&] { read_record(folder.path()); }), HasSubstr("first line"));
}

}  // namespace
}  // namespace linkgain::test
