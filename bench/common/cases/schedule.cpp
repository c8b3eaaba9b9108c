#include "linkgain/cases/schedule.hpp"

#include <stdexcept>

#include "linkgain/base/text.hpp"

namespace linkgain {

std::string_view name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::paired:
      return "paired";
    case Schedule::sequential:
      return "sequential";
  }
  throw std::logic_error("unhandled schedule");
}

Schedule parse_schedule(std::string_view name) { return parse_name("schedule", name, kSchedules); }

}  // namespace linkgain
