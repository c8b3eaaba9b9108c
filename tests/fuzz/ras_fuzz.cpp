// What NCCL's RAS reports of a job that hangs.
#include "fuzz_target.hpp"
#include "linkgain/watch/hang_report.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const RasAnswer answer = parse_ras(text);
  if (answer.lines.size() > kMostRasLines) throw std::logic_error("too many lines");
  for (const RankBehind& rank : answer.behind) {
    if (rank.launched >= rank.most) throw std::logic_error("a rank that is not behind");
  }
  HangReport report;
  report.ras = answer;
  describe(report);
}

}  // namespace
}  // namespace linkgain

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return linkgain::fuzz::run(data, size, linkgain::read);
}
