#pragma once

#include "linkgain/base/json_document.hpp"
#include "linkgain/hardware/neighbours.hpp"

namespace linkgain::json {

/// What a run saw of others' work, as a record has it.
Out write_neighbours(const Neighbours& neighbours);
Neighbours read_neighbours(const In& json);

}  // namespace linkgain::json
