#include "linkgain/record/digest.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kMember = "\"digest\": ";

[[noreturn]] void refuse() {
  throw UsageError("it is not as linkgain wrote it: its digest is of other bytes",
                   "take an unchanged copy; a record is not made to be edited");
}

/// Up to its closing bracket, or the line break before that.
std::string_view body_of(std::string_view document) {
  std::string_view body = document.substr(0, document.rfind('}'));
  if (body.ends_with('\n')) body.remove_suffix(1);
  return body;
}

}  // namespace

std::string with_digest(std::string_view document, std::string_view before, Digest& so_far) {
  const std::string_view body = body_of(document);
  so_far.add(body);
  const std::string end =
      fmt::format("{}{}\"{}\"{}", before, kMember, so_far.text(), document.substr(body.size()));
  so_far.add(end);
  return std::string(body) + end;
}

std::string require_digest(std::string_view text, const json::Node& document,
                           std::string_view before, Digest& so_far) {
  if (!document.is_object() || !document.find("digest")) return {};
  const std::string name = fmt::format("{}{}", before, kMember);
  const std::size_t body = text.rfind(name);
  if (body == std::string_view::npos) refuse();
  so_far.add(text.substr(0, body));
  std::string digest = so_far.text();
  if (!text.substr(body + name.size()).starts_with('"' + digest + '"')) refuse();
  so_far.add(text.substr(body));
  return digest;
}

}  // namespace linkgain
