// A journal, as a crash leaves it.

#include "fuzz_target.hpp"
#include "linkgain/record/journal.hpp"

namespace linkgain {
namespace {

std::string write(const Record& record) {
  const std::filesystem::path file = fuzz::scratch_folder() / "journal.jsonl";
  JournalWriter journal(file);
  journal.write_head(record);
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    journal.write_case(static_cast<int>(i), record.cases[i]);
  }
  for (const ProgramRun& run : record.runs) journal.write_program_run(run);
  for (const Warning& warning : record.warnings) journal.write_warning(warning);
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void read(std::string_view text) {
  const auto parse = [](std::string_view journal) { return parse_journal(journal, "input"); };
  fuzz::require_round_trip(parse(text), parse, write);
}

}  // namespace
}  // namespace linkgain
