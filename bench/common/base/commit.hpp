#pragma once

#include <string_view>

namespace linkgain {

/// "+04a4051" of the sources this was built from, "-dirty" where they differ from the commit; empty
/// where it is not known. Its source is written by scripts/cmake/WriteCommit.cmake at every build.
std::string_view commit_suffix();

}  // namespace linkgain
