#include "linkgain/record/digest.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kMember = "\"digest\": ";
constexpr std::string_view kResultsMember = ",\n\"results_digest\": ";

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

bool require_digest(std::string_view text, const json::In& document, std::string_view before,
                    Digest& so_far) {
  const auto found = document.find("digest");
  if (found == document.end()) return false;
  const std::size_t body = text.rfind(fmt::format("{}{}", before, kMember));
  so_far.add(text.substr(0, body));
  if (body == std::string_view::npos || *found != so_far.text()) refuse();
  so_far.add(text.substr(body));
  return true;
}

std::string results_digest(std::string_view results) {
  Digest digest;
  digest.add(body_of(results));
  return digest.text();
}

bool require_results_digest(std::string_view text) {
  const std::size_t member = text.rfind(kResultsMember);
  if (member == std::string_view::npos) return false;
  Digest digest;
  digest.add(text.substr(0, member));
  if (!text.substr(member + kResultsMember.size()).starts_with('"' + digest.text() + '"')) refuse();
  return true;
}

void require_results_digest(std::string_view text, const json::In& document) {
  if (!require_results_digest(text) && document.contains("results_digest")) refuse();
}

}  // namespace linkgain
