#pragma once

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// The guide's own table: what all steps of the first training take with each variant, how much
/// less time that is, and what of it is communication; below it one table over all trainings where
/// there are several, and why others were not measured. Empty where the record has no training.
Document training_tables(const RunSummary& summary);

}  // namespace linkgain
