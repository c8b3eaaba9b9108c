#pragma once

#include <string>

#include "linkgain/formats/record_selection.hpp"

namespace linkgain {

/// One variant of a run as nccl-tests prints it: a table for each operation that it has a program
/// for and each kind of buffers, one after the other. Where sizes were measured by graph and by
/// stream, too, each has its own. Times are the record's (on the device, the slowest rank's, over
/// all launches), which a comment says. Cases that nccl-tests has no rows for (pairs, our own
/// kernels, what was not measured) are counted in a comment. Throws as selected_variant() and
/// selected_cases(), and UsageError where no row is left.
std::string nccl_tests_tables(const Record& record, const RecordSelection& selection);

/// The same as the JSON of its -J, one document. Throws UsageError where there is more than one
/// table.
std::string nccl_tests_document(const Record& record, const RecordSelection& selection);

}  // namespace linkgain
