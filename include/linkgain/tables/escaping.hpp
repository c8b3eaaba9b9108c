#pragma once

#include <string>
#include <string_view>

/// Text made harmless for the formats that other programs read. Bytes that are no UTF-8, as the
/// output of a job may hold, become U+FFFD in all of them.
namespace linkgain {

std::string valid_utf8(std::string_view text);

/// For XML 1.0, in an attribute or an element: markup as entities; control characters, which XML
/// cannot hold in any form, as U+FFFD; line breaks kept.
std::string xml_escaped(std::string_view text);

/// For the value of a label in Prometheus' text format: backslash, quote and line feed.
std::string prometheus_escaped(std::string_view text);

}  // namespace linkgain
