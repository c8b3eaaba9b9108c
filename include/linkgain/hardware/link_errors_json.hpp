#pragma once

#include "linkgain/base/json_document.hpp"
#include "linkgain/hardware/link_errors.hpp"

namespace linkgain::json {

/// A run's errors on its links, as a record has them.
Out write_link_errors(const LinkErrors& errors);
LinkErrors read_link_errors(const In& json);

}  // namespace linkgain::json
