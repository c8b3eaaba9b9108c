#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// Expands a list of host names as Slurm writes it: "a,node[01-03,7]-ib" is a, node01-ib,
/// node02-ib, node03-ib and node7-ib. Line breaks and blanks separate like commas. Throws
/// UsageError for brackets that do not match, ranges that are none, and more than 100,000 names.
std::vector<std::string> expand_hostlist(std::string_view text);

/// Returns the shortest such list of these names in which runs of numbers of one width are ranges:
/// "node[01-03,07]". Sorted, each name once.
std::string compress_hostlist(std::vector<std::string> hosts);

/// Returns whether the name can only stand for one host: letters, digits, dots, hyphens and
/// underscores, beginning with a letter or digit, and none of the words that Slurm has for all
/// nodes or for this one. Names of records go into a command only if they are such.
bool is_host_name(std::string_view name);

}  // namespace linkgain
