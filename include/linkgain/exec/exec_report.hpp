#pragma once

#include <string>

#include "linkgain/record/record.hpp"
#include "linkgain/tables/document.hpp"

/// Reports of records that `linkgain exec` wrote: Settings::program is there.
namespace linkgain {

/// On one screen of at most 24 lines, none wider than the columns but perhaps `footer`'s: the
/// machine, the command; a row for each metric and variant, three warnings at most, `footer`; and,
/// last, what the runs say in a sentence.
std::string exec_screen(const Record& record, const std::string& footer, const ScreenStyle& style);

/// Says the same in full, and what every report has of the circumstances.
Document exec_document(const Record& record);

/// The same to be pasted into an issue or a forum, in a block of at most kMostCardLines lines: of
/// the metric alone that the sentence is about.
std::string exec_card(const Record& record);

/// The same as a page that stands alone, with pictures of the values, of each run, and of the
/// machine.
std::string exec_page(const Record& record);

/// Has what exec_document() has more than exec_screen().
Document exec_details(const Record& record);

}  // namespace linkgain
