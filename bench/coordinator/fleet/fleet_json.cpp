#include "linkgain/fleet/fleet.hpp"
#include "linkgain/record/json_conversions.hpp"

namespace linkgain {
namespace {

using json::nullable;
using json::Out;

Out write_node(const FleetNode& node) {
  return {{"host", node.host},
          {"state", name_of(node.state)},
          {"machine", node.machine},
          {"slowdown", nullable(node.slowdown)},
          {"worst_case", node.worst_case},
          {"worst_variant", node.worst_variant},
          {"slow_cases", node.slow_cases},
          {"judged_cases", node.judged_cases},
          {"blame", node.blame},
          {"findings", node.findings},
          {"record", node.record.string()}};
}

}  // namespace

std::string to_json(const FleetReport& report) {
  return json::document_text({{"schema", "linkgain.fleet/1"},
                              {"nodes", json::array_of(report.nodes, write_node)},
                              {"drain", report.drain},
                              {"notes", report.notes}});
}

}  // namespace linkgain
