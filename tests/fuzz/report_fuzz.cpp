// What `report` prints of a record, in all its forms.
#include "fuzz_target.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/screen/screen.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  Record record = parse_record(text, "input");
  judge(record);
  const RunSummary summary(record);
  csv(summary);
  screen(summary, "footer", ScreenStyle{});
  to_markdown(run_report(summary));
}

}  // namespace
}  // namespace linkgain
