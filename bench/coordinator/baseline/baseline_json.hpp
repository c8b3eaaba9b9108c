#pragma once

#include "linkgain/base/json.hpp"
#include "linkgain/baseline/baseline.hpp"

namespace linkgain::json {

Out write_source(const BaselineSource& source);
BaselineSource read_source(const In& json);

}  // namespace linkgain::json
