// A file of tokens that a training reads.
#include "fuzz_target.hpp"
#include "linkgain/gpt2/token_file.hpp"

namespace linkgain {
namespace {

void read(std::string_view bytes) {
  const std::filesystem::path file = fuzz::scratch_file("tokens", bytes);
  const TokenFacts facts = survey_token_file(file);
  if (facts.largest < 0 || facts.largest_at >= facts.count) throw std::logic_error("no such place");
  require_known(file, facts.largest, facts.largest_at, facts.largest + 1);
  require_sequence(file, facts.count, facts.count - 1);
}

}  // namespace
}  // namespace linkgain
