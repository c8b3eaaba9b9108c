#include "linkgain/report/markdown.hpp"

#include <fmt/format.h>

#include "health_section.hpp"
#include "linkgain/report/headline.hpp"
#include "linkgain/report/pair_tables.hpp"
#include "linkgain/report/size_table.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_sections.hpp"
#include "wires.hpp"

namespace linkgain {
namespace {

std::string title(const Record& record) {
  const Machine& machine = record.machine;
  const std::string ranks = machine.ranks.empty() ? "no ranks" : describe_ranks(machine);
  const std::string_view backend = record.settings.backend == "mpi" ? ", MPI in CPU memory" : "";
  const std::string wall =
      record.wall_seconds ? fmt::format(", in {:.1f} s of wall time", *record.wall_seconds) : "";
  return fmt::format("# linkgain: {}{}\n\nMeasured on {} at {}{}: {}.\n", one_line(ranks), backend,
                     machine.host.empty() ? "an unnamed host" : machine.host,
                     record.started.empty() ? "an unknown time" : record.started, wall,
                     record.status);
}

std::string sizes_section(const Record& record) {
  const std::string tables = size_tables(record);
  return tables.empty()
             ? tables
             : "## By size\n\nTimes are medians for one operation; busbw compares with the "
               "limit of the path that carried the bytes, where that is known. Less time is 1 − "
               "1/speed-up.\n\n" +
                   tables;
}

std::string pairs_section(const Record& record) {
  const std::string tables = pair_tables(record);
  return tables.empty()
             ? tables
             : "## Pairs\n\nOne pair at a time, the others idle: from 1 MiB on bus bandwidth, else "
               "time, medians for one operation; beside each what joins the two, as `linkgain "
               "topo` "
               "names it, whichever way the bytes took. Speed-ups are estimated round by "
               "round.\n\n" +
                   tables;
}

}  // namespace

std::string markdown_report(const Record& record) {
  std::string text = title(record);
  for (const std::string& section :
       {headline(record), health_section(record), warnings_section(record), sizes_section(record),
        pairs_section(record), wires_section(record), variants_section(record),
        machine_section(record), repeat_section(record)}) {
    text += section.empty() ? section : "\n" + section;
  }
  return text;
}

}  // namespace linkgain
