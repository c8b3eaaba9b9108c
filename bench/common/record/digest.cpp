#include "digest.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kMember = "\"digest\": ";

}  // namespace

void Digest::add(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * kPrime;
}

std::string Digest::text() const { return fmt::format("fnv1a64:{:016x}", state_); }

std::string with_digest(std::string_view document, std::string_view before, Digest& so_far) {
  std::string_view body = document.substr(0, document.rfind('}'));
  if (body.ends_with('\n')) body.remove_suffix(1);
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
  if (body == std::string_view::npos || *found != so_far.text()) {
    throw UsageError("it is not as linkgain wrote it: its digest is of other bytes",
                     "take an unchanged copy; a record is not made to be edited");
  }
  so_far.add(text.substr(body));
  return true;
}

}  // namespace linkgain
