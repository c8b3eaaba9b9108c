#pragma once

#include <functional>
#include <string>

#include "linkgain/base/json.hpp"

namespace linkgain::json {

/// How a member of a document is written: on its own line, over several with a step of one space,
/// or with a line for each of its elements or members.
enum class Layout { line, indented, rows };

/// A document with every member on a line of its own, its value as `layout_of` says of name and
/// value. Rows are for arrays and objects that are not empty.
std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of);

}  // namespace linkgain::json
