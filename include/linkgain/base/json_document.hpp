#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

/// JSON documents as a whole. What declares functions of JSON includes this, what writes or reads
/// members linkgain/base/json.hpp.
namespace linkgain::json {

using Out = nlohmann::ordered_json;
using In = nlohmann::json;

/// What a document may have at most: ten times what records of 100,000 samples do. A number takes
/// some 30 bytes of memory while it is read, each of the parts up to 100, whatever the file needs
/// for it.
struct DocumentLimits {
  std::size_t values = 20'000'000;
  std::size_t parts = 4'000'000;  ///< members of objects, objects, lists and texts
};

/// Parses a document of others; its texts are visible_lines() of their first 64 KiB. Throws
/// nlohmann's exceptions where it is no JSON, UsageError where it has more than `most`, or an
/// object has a member twice or one whose name holds control characters.
In parse(std::string_view text, const DocumentLimits& most = {});

/// Writes JSON; `indent` -1: on one line. Bytes that are no UTF-8, as arguments and variables may
/// hold, are replaced.
std::string text_of(const Out& value, int indent = -1);

/// How a member of a document is written: on its own line, over several with a step of one space,
/// or with a line for each of its elements or members.
enum class Layout { line, indented, rows };

/// Lays a document out with every member on a line of its own, its value as `layout_of` says of
/// name and value. Rows are for arrays and objects that are not empty.
std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of);

}  // namespace linkgain::json
