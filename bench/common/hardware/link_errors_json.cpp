#include "linkgain/hardware/link_errors_json.hpp"

#include "linkgain/base/json.hpp"

namespace linkgain::json {
namespace {

Out write_counter(const ErrorCounter& counter) {
  return {{"gpu", counter.gpu},
          {"link", nullable(counter.link)},
          {"peer", nullable(counter.peer)},
          {"counter", name_of(counter.kind)}};
}

ErrorCounter read_counter(const In& json) {
  return {json.at("gpu"), parse_error_kind(json.at("counter").get<std::string>()),
          optional_at<int>(json, "link"), optional_at<int>(json, "peer")};
}

Out write_counted(const CountedErrors& errors) {
  Out out = write_counter(errors.counter);
  out["at_begin"] = errors.at_begin;
  out["growth"] = errors.growth;
  return out;
}

Out write_growth(const ErrorGrowth& growth) {
  Out out = write_counter(growth.counter);
  out["after_s"] = growth.after_s;
  out["growth"] = growth.growth;
  return out;
}

}  // namespace

Out write_link_errors(const LinkErrors& errors) {
  return {{"readings", errors.readings},
          {"counters", array_of(errors.counters, write_counted)},
          {"grown", array_of(errors.grown, write_growth)}};
}

LinkErrors read_link_errors(const In& json) {
  return {json.at("readings"),
          vector_of<CountedErrors>(
              json.at("counters"),
              [](const In& each) {
                return CountedErrors{read_counter(each), each.at("at_begin"), each.at("growth")};
              }),
          vector_of<ErrorGrowth>(json.at("grown"), [](const In& each) {
            return ErrorGrowth{each.at("after_s"), read_counter(each), each.at("growth")};
          })};
}

}  // namespace linkgain::json
