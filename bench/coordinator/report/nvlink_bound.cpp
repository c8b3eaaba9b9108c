#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/link_bounds.hpp"
#include "linkgain/tables/document.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Says "1.14x"; of what moves too few bytes for the link's rate to bound it ">1000x".
std::string most_speed_up(const LinkBound& bound) {
  constexpr double kMost = 1000.0;
  const double ratio = bound.now.value / bound.least.value;
  return ratio < kMost ? fmt::format("{:.3g}x", ratio) : ">1000x";
}

/// Names the training that saves most, else the operation: the guide's question is about training.
const LinkBound& most_telling(const std::vector<LinkBound>& bounds) {
  return *std::ranges::max_element(bounds, {}, [](const LinkBound& bound) {
    return std::pair(bound.is_training, bound.now.value / bound.least.value);
  });
}

}  // namespace

std::string nvlink_bound_sentence(const RunSummary& summary) {
  const std::optional<LinkBounds> found = link_bounds(summary);
  if (!found) return {};
  const LinkBound& bound = most_telling(found->bounds);
  return fmt::format("{} By arithmetic, a link could make {} at most {} as fast.", found->link.why,
                     answer_label(bound.of->definition()), most_speed_up(bound));
}

Document nvlink_bound(const RunSummary& summary) {
  const std::optional<LinkBounds> found = link_bounds(summary);
  if (!found) return {};
  const auto& [link, bounds] = *found;
  const std::string rate = link.gb_per_s ? fmt::format(", and {} carries {:.4g} GB/s each way",
                                                       link.name, *link.gb_per_s)
                                         : "";
  Document document;
  document.heading("What NVLink could save at most");
  document.paragraph(fmt::format(
      "{} This is arithmetic, not a measurement: no link saves a training step more than its "
      "exposed communication{}.",
      link.why, rate));
  Table table({{"Operation"}, {"Now", kRight}, {"At best", kRight}, {"Speed-up at most", kRight}});
  for (const LinkBound& bound : bounds) {
    table.add_row({answer_label(bound.of->definition()), readable_time(bound.now),
                   readable_time(bound.least), most_speed_up(bound)});
  }
  document.table(std::move(table));
  return document;
}

}  // namespace linkgain
