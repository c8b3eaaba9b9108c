#include "linkgain/exec/line_pattern.hpp"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;
using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using JitStack = std::unique_ptr<pcre2_jit_stack, decltype(&pcre2_jit_stack_free)>;

/// Steps of one search: some ten milliseconds.
constexpr std::uint32_t kMostSteps = 1'000'000;
/// Enough for that many steps. It is reserved; only what a search needs takes memory.
constexpr std::size_t kFirstStack = std::size_t{32} << 10;
constexpr std::size_t kMostStack = std::size_t{32} << 20;

constexpr char kEscape = '\033';

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Code compile(const std::string& text, const std::string& option) {
  int error = 0;
  PCRE2_SIZE place = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, &error, &place,
                          nullptr),
            pcre2_code_free);
  if (code) return code;
  throw UsageError(fmt::format("{} '{}' is no regular expression: {}, at character {}", option,
                               text, message_of(error), place + 1));
}

}  // namespace

struct LinePattern::Compiled {
  explicit Compiled(Code from)
      : code(std::move(from)),
        data(pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free),
        context(pcre2_match_context_create(nullptr), pcre2_match_context_free),
        stack(pcre2_jit_stack_create(kFirstStack, kMostStack, nullptr), pcre2_jit_stack_free) {
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), kMostSteps);
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // faster where the processor allows it
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    pcre2_pattern_info(code.get(), PCRE2_INFO_MINLENGTH, &shortest);
  }

  /// Finds where the first match from `start` on begins and ends, and its groups; null for none.
  /// Throws SearchGivenUp.
  const PCRE2_SIZE* find(std::string_view line, PCRE2_SIZE start) const {
    if (line.size() - start < shortest) return nullptr;
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()),
                                  line.size(), start, 0, data.get(), context.get());
    if (found < PCRE2_ERROR_NOMATCH) throw SearchGivenUp(message_of(found));
    return found > 0 ? pcre2_get_ovector_pointer(data.get()) : nullptr;
  }

  Code code;
  MatchData data;
  MatchContext context;
  JitStack stack;
  std::uint32_t shortest = 0;  ///< no match has less bytes
};

LinePattern::LinePattern(std::string text, const std::string& option)
    : text_(std::move(text)), compiled_(std::make_shared<Compiled>(compile(text_, option))) {}

int LinePattern::groups() const {
  std::uint32_t count = 0;
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_CAPTURECOUNT, &count);
  return static_cast<int>(count);
}

bool LinePattern::matches(std::string_view line) const {
  if (line.find(kEscape) != line.npos) return compiled_->find(without_escapes(line), 0) != nullptr;
  return compiled_->find(line, 0) != nullptr;
}

void LinePattern::for_each(std::string_view line,
                           const std::function<void(std::string_view)>& use) const {
  if (line.find(kEscape) != line.npos) return for_each(without_escapes(line), use);
  PCRE2_SIZE start = 0;
  while (start <= line.size()) {
    const PCRE2_SIZE* const found = compiled_->find(line, start);
    if (found == nullptr) return;
    const PCRE2_SIZE end = found[1];
    if (found[2] != PCRE2_UNSET) use(line.substr(found[2], found[3] - found[2]));
    start = end > start ? end : start + 1;
  }
}

}  // namespace linkgain
