#include "linkgain/summary/answer_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/summary/changes.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

/// In the order of the rows; others follow as they were measured.
constexpr std::array kQuestions{OperationKind::all_reduce, OperationKind::send_recv,
                                OperationKind::copy_push, OperationKind::copy_pull,
                                OperationKind::latency};

/// Tells whether the ratio is shown to be within kFewPerCent of 1.
bool changes_little(const Comparison* comparison) {
  if (comparison == nullptr || !comparison->has_interval()) return false;
  return comparison->verdict == Verdict::same ||
         (is_change(comparison->verdict) &&
          std::abs(std::log(comparison->ratio->value)) < std::log1p(kFewPerCent));
}

/// Tells whether the case has what a row shows: the first variant's time and the other one's.
bool fills_row(const CaseSummary& each, std::size_t other) {
  if (other == 0) return each.is_measured;
  const std::vector<VariantResult>& variants = each.result->variants;
  return other < variants.size() && variants.front().time && variants[other].time;
}

/// Tells whether a size of the curve is shown to have changed this way by more than the row.
bool changes_more(const Curve& curve, const AnswerRow& row, Verdict verdict) {
  const Comparison* const own = row.comparison();
  const bool is_alike = own != nullptr && own->verdict == verdict;
  const double change = is_alike ? change_interval(own).high : 0.0;
  return std::ranges::any_of(curve.cases, [&](const CaseSummary* each) {
    const Comparison* const comparison = AnswerRow{each, row.other}.comparison();
    return comparison != nullptr && comparison->verdict == verdict &&
           change_interval(comparison).low > change;
  });
}

/// Chooses of a kernel's curve what shows the headroom: both ends, and between them what leaves
/// most, or what is nearest to 1 MiB.
std::vector<const CaseSummary*> headroom_of(const Curve& curve) {
  std::vector<const CaseSummary*> cases;
  for (const CaseSummary* each : curve.cases) {
    const Bytes size = each->definition().size;
    if (!cases.empty() && cases.back()->definition().size == size) continue;  // another pair's
    if (!each->variants.empty() && each->variants.front().library_ratio) cases.push_back(each);
  }
  constexpr std::size_t kMost = 3;
  if (cases.size() <= kMost) return cases;
  auto between = std::ranges::max_element(cases, {}, [](const CaseSummary* each) {
    return each->variants.front().library_ratio->value;
  });
  if (between == cases.begin() || between + 1 == cases.end()) {
    constexpr double kBetween = 1 << 20;
    between = std::ranges::min_element(
        cases.begin() + 1, cases.end() - 1, {}, [](const CaseSummary* each) {
          return std::abs(std::log(static_cast<double>(each->definition().size.value) / kBetween));
        });
  }
  return {cases.front(), *between, cases.back()};
}

/// Tells whether headroom is what the run was asked for: Answer::begins_with_headroom.
bool asks_for_headroom(const RunSummary& summary) {
  const std::vector<CaseSummary>& cases = summary.cases;
  const auto changes_kernels = [&](const CaseSummary& each) {
    for (std::size_t other = 1; other < each.variants.size(); ++other) {
      if (each.definition().kernel && may_answer(summary, each.definition(), other)) return true;
    }
    return false;
  };
  const auto has_kernel = [&](const CaseSummary& each) {
    Case kernel = each.definition();
    kernel.kernel = true;
    return kernel.buffers != Buffers::plain ||
           std::ranges::count(cases, kernel, &CaseSummary::definition) > 0;
  };
  const auto is_faster = [](const CaseSummary& each) {
    return !each.variants.empty() && each.variants.front().beside_library == Verdict::faster;
  };
  return std::ranges::any_of(cases, is_faster) && std::ranges::all_of(cases, has_kernel) &&
         std::ranges::none_of(cases, changes_kernels);
}

/// Counts the other curves in which all of these variants are shown to have changed by this
/// verdict, and finds where one did most.
std::pair<std::int64_t, AnswerRow> changed_elsewhere(const RunSummary& summary,
                                                     std::span<const AnswerRow> rows,
                                                     Verdict verdict) {
  std::int64_t changed = 0;
  AnswerRow most;
  for (const Curve* curve : curves_beside(summary, rows.front())) {
    std::vector<AnswerRow> own;
    for (const AnswerRow& row : rows) own.push_back(most_changed(*curve, row.other, verdict));
    if (std::ranges::count(own, nullptr, &AnswerRow::of) > 0) continue;
    ++changed;
    const AnswerRow& largest = *std::ranges::max_element(own, {}, change_of);
    if (most.of == nullptr || change_of(largest) > change_of(most)) most = largest;
  }
  return {changed, most};
}

bool is_change_of_setting(const AnswerRow& row) {
  return is_of_setting(row) && is_change(row.comparison()->verdict);
}

/// Finds what is to say beside the row.
AnswerSentence spoken_of(const RunSummary& summary, const AnswerRow& row) {
  AnswerSentence spoken{.rows = {row}};
  const Verdict verdict = row.comparison()->verdict;
  if (!is_change(verdict)) return spoken;
  spoken.contrary = most_contrary(summary, row);
  const AnswerRow most = changed_elsewhere(summary, spoken.rows, contrary_of(verdict)).second;
  const bool is_more = most.of != nullptr && (spoken.contrary.of == nullptr ||
                                              change_of(most) > change_of(spoken.contrary));
  if (is_more) spoken.contrary_elsewhere = most;
  return spoken;
}

/// Tells whether the rows, which may be none, are of one case and show the same ratio.
bool look_alike(const AnswerRow& one, const AnswerRow& other) {
  return one.of == other.of &&
         (one.of == nullptr || spoken_ratio(*one.comparison()->ratio).words ==
                                   spoken_ratio(*other.comparison()->ratio).words);
}

/// Tells whether one sentence can speak of what two variants of a setting changed.
bool say_the_same(const RunSummary& summary, const AnswerSentence& one,
                  const AnswerSentence& other) {
  const AnswerRow& row = one.rows.front();
  const AnswerRow& own = other.rows.front();
  return is_change_of_setting(row) && is_change_of_setting(own) && look_alike(row, own) &&
         std::ranges::equal(ranges_like(summary, row), ranges_like(summary, own),
                            [](SizeRange a, SizeRange b) { return std::ranges::equal(a, b); }) &&
         look_alike(one.contrary, other.contrary) &&
         look_alike(one.contrary_elsewhere, other.contrary_elsewhere);
}

/// Makes sentences of what is spoken of, as many as there may be. Those of settings say in how many
/// other curves they changed.
std::vector<AnswerSentence> sentences_of(const RunSummary& summary,
                                         std::span<const AnswerRow> rows) {
  std::vector<AnswerSentence> sentences;
  for (const AnswerRow& row : rows) {
    const bool is_said = std::ranges::any_of(sentences, [&](const AnswerSentence& each) {
      return each.contrary == row || each.contrary_elsewhere == row;
    });
    if (row.comparison() == nullptr || is_said) continue;
    AnswerSentence own = spoken_of(summary, row);
    const auto same = std::ranges::find_if(
        sentences, [&](const AnswerSentence& each) { return say_the_same(summary, each, own); });
    if (same != sentences.end()) {
      same->rows.push_back(row);
    } else if (sentences.size() < kMostSentences) {
      sentences.push_back(std::move(own));
    }
  }
  for (AnswerSentence& each : sentences) {
    if (!is_change_of_setting(each.rows.front())) continue;
    std::tie(each.alike_curves, each.most_alike) =
        changed_elsewhere(summary, each.rows, each.rows.front().comparison()->verdict);
    if (each.most_alike.of == nullptr) continue;
    const AnswerRow contrary = most_contrary(summary, each.most_alike);
    if (contrary != each.contrary_elsewhere) each.alike_contrary = contrary;
  }
  return sentences;
}

/// Chooses the rows of a run, and names what has none.
class RowChoice {
 public:
  explicit RowChoice(const RunSummary& summary) : summary_(summary) {
    std::size_t variants = 0;
    for (const CaseSummary& each : summary.cases) {
      variants = std::max(variants, each.variants.size());
    }
    for (std::size_t i = 1; i < variants; ++i) others_.push_back(i);
    if (others_.empty()) others_.push_back(0);
    has_more_than_decoder_ = std::ranges::any_of(summary.cases, [](const CaseSummary& each) {
      const OperationKind operation = each.definition().operation;
      return !has_hidden(operation) && !is_copy(operation);
    });
    for (const OperationKind operation : kQuestions) add_curves_of(operation, Rank::question);
    for (const CaseGroup& group : summary.groups) {
      const OperationKind operation = group.all.definition().operation;
      if (seen_.count(operation) == 0) add_curves_of(operation, Rank::first);
    }
    add_trainings();
  }

  Answer take(std::size_t most_rows) {
    Answer answer{.spoken_headroom = spoken_headroom_,
                  .has_other_headroom = has_other_headroom_,
                  .begins_with_headroom = !spoken_headroom_.empty() && asks_for_headroom(summary_)};
    speak_of_most(answer);
    for (Candidate& each : candidates_) {
      const bool is_spoken = std::ranges::count(spoken_headroom_, each.row.of) > 0;
      if (answer.begins_with_headroom && each.is_headroom && is_spoken) each.rank = Rank::headroom;
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) candidates_[i].place = i;
    std::ranges::stable_sort(candidates_, {}, [&](const Candidate& each) {
      const Comparison* const comparison = each.row.comparison();
      return std::tuple(each.rank > Rank::alike && changes_little(comparison), each.rank,
                        std::ranges::find(answer.spoken, each.row),
                        -change_interval(comparison).low);
    });
    const std::size_t chosen = std::min(most_rows, candidates_.size());
    const auto rest = candidates_.begin() + static_cast<std::ptrdiff_t>(chosen);
    std::ranges::sort(candidates_.begin(), rest, {}, &Candidate::place);
    std::ranges::sort(rest, candidates_.end(), {}, &Candidate::place);
    for (auto each = candidates_.begin(); each != rest; ++each) {
      if (each->is_headroom) {
        answer.headroom.push_back(each->row.of);
      } else {
        answer.rows.push_back(each->row);
      }
    }
    for (auto each = rest; each != candidates_.end(); ++each) leave_out(*each, answer);
    if (const auto others = std::ranges::count(summary_.groups, false, &CaseGroup::is_in_answer)) {
      answer.left_out.push_back(counted(others, "other curve", "other curves"));
    }
    return answer;
  }

 private:
  /// What room is given to first.
  enum class Rank {
    spoken,
    headroom,  ///< where the answer begins with it
    named,     ///< beside what is spoken of
    alike,     ///< the same as the first row of its sentence
    question,  ///< the first of an operation that everybody asks for, or of the trainings
    first,     ///< of another operation
    other,
    more,  ///< kernels, and sizes beside the largest
  };
  struct Candidate {
    AnswerRow row;
    Rank rank = Rank::other;
    std::string name;  ///< where it is left out
    bool is_headroom = false;
    std::size_t place = 0;
  };

  void add(AnswerRow row, Rank rank, std::string name, bool is_headroom = false) {
    candidates_.push_back({row, rank, std::move(name), is_headroom});
  }

  void add_curves_of(OperationKind operation, Rank of_first) {
    for (const CaseGroup& group : summary_.groups) {
      const Case definition = group.all.definition();
      if (definition.operation != operation || !group.is_in_answer) continue;
      if (definition.hidden != 0 && has_more_than_decoder_) continue;  // they have a table
      const bool is_first = seen_.insert(operation).second;
      add_curve(group.all, definition.kernel ? Rank::more : is_first ? of_first : Rank::other);
      if (definition.kernel) add_headroom(group.all);
    }
  }

  void add_curve(const Curve& curve, Rank rank) {
    for (const std::size_t other : others_) {
      const auto fills = [other](const CaseSummary& each) { return fills_row(each, other); };
      const AnswerRow row{summary_.main_case(curve, fills), other};
      if (row.of == nullptr) continue;
      add(row, rank, curve_label(curve.definition()));
      for (const Verdict verdict : {Verdict::faster, Verdict::slower}) {
        const AnswerRow most = most_changed(curve, other, verdict);
        if (most.of != nullptr && changes_more(curve, row, verdict)) {
          add(most, Rank::more, answer_label(most.of->definition()));
        }
      }
    }
  }

  void add_headroom(const Curve& curve) {
    const std::vector<const CaseSummary*> cases = headroom_of(curve);
    const bool is_first = spoken_headroom_.empty();
    for (const CaseSummary* each : cases) {
      add({each}, is_first ? Rank::other : Rank::more,
          "headroom of " + curve_label(curve.definition()), true);
    }
    if (is_first) spoken_headroom_ = cases;
    has_other_headroom_ = has_other_headroom_ || (!is_first && !cases.empty());
  }

  void add_trainings() {
    Rank rank = Rank::question;
    for (const CaseSummary* training : summary_.trainings) {
      for (const std::size_t other : others_) {
        if (!fills_row(*training, other)) continue;
        add({training, other}, rank, answer_label(training->definition()));
      }
      rank = Rank::other;
    }
  }

  /// Finds what changed most beside this variant, by this verdict where one is given; no case where
  /// nothing is shown to have changed.
  AnswerRow most_of_run(std::size_t other, std::optional<Verdict> only = {}) const {
    std::vector<const CaseSummary*> cases;
    for (const Candidate& each : candidates_) {
      if (!each.is_headroom) cases.push_back(each.row.of);
    }
    for (const CaseSummary& each : summary_.cases) cases.push_back(&each);
    std::erase_if(cases, [&](const CaseSummary* each) {
      return !fills_row(*each, other) || !may_answer(summary_, each->definition(), other) ||
             (only && AnswerRow{each, other}.comparison()->verdict != *only);
    });
    double most = 0.0;
    for (const CaseSummary* each : cases) {
      most = std::max(most, change_interval(AnswerRow{each, other}.comparison()).low);
    }
    // What a path is worth to several cases alike, the first row says. A setting may do to one case
    // what it does to no other.
    const auto found = std::ranges::find_if(cases, [&](const CaseSummary* each) {
      const AnswerRow row{each, other};
      const Interval change = change_interval(row.comparison());
      return most > 0.0 && (is_of_setting(row) ? change.low : change.high) >= most;
    });
    return {found == cases.end() ? nullptr : *found, other};
  }

  /// Chooses what the sentence is about, and gives it the first rows.
  void speak_of_most(Answer& answer) {
    if (summary_.tuning) return speak_of_confirmed(answer);
    const bool is_wrong = std::ranges::any_of(summary_.cases, &CaseSummary::has_wrong_data);
    for (const std::size_t other : others_) {
      AnswerRow row = is_wrong ? AnswerRow{} : most_of_run(other);
      if (row.of != nullptr && is_of_setting(row)) {
        const AnswerRow changed = row;
        for (const SizeRange range : ranges_like(summary_, changed)) {
          for (const CaseSummary* each : range) {
            if (change_of({each, other}) > change_of(row)) row.of = each;
          }
        }
      }
      const auto first = std::ranges::find_if(candidates_, [other](const Candidate& each) {
        return each.row.other == other && !each.is_headroom;
      });
      if (row.of == nullptr && first != candidates_.end()) row = first->row;
      if (row.of == nullptr) continue;
      answer.spoken.push_back(row);
      if (is_wrong) break;
    }
    const auto is_other_library = [&](const AnswerRow& row) {
      const auto& all = summary_.record.settings.variants;
      return row.other < all.size() && all[row.other].environment.size() == 1 &&
             all[row.other].environment.contains("LINKGAIN_NCCL");
    };
    std::ranges::stable_sort(answer.spoken, std::ranges::greater{}, [&](const AnswerRow& row) {
      return std::pair(is_other_library(row), change_interval(row.comparison()).low);
    });
    speak_of_contrary(answer);
    if (!is_wrong) answer.sentences = sentences_of(summary_, answer.spoken);
    for (const AnswerSentence& each : answer.sentences) {
      for (const AnswerRow& row : each.beside()) give_row(row, Rank::named);
    }
    for (const AnswerRow& row : answer.spoken) give_row(row, Rank::spoken);
    for (const AnswerSentence& each : answer.sentences) {
      for (std::size_t i = 1; i < each.rows.size(); ++i) give_row(each.rows[i], Rank::alike);
    }
  }

  /// Speaks of what a race confirmed, and where that takes longer, else of the first row.
  void speak_of_confirmed(Answer& answer) {
    answer.spoken = confirmed_rows(summary_);
    for (const AnswerRow& row : answer.spoken) {
      give_row(row, Rank::spoken);
      give_row(most_contrary(summary_, row), Rank::named);
    }
    if (answer.spoken.empty() && !candidates_.empty()) answer.spoken = {candidates_.front().row};
  }

  /// Gives the row this rank, and where it is none yet a place behind those of its curve.
  void give_row(const AnswerRow& row, Rank rank) {
    if (row.of == nullptr) return;
    const auto known = std::ranges::find(candidates_, row, &Candidate::row);
    if (known != candidates_.end()) {
      known->rank = rank;
      return;
    }
    const Curve* const curve = summary_.curve_with(row.of);
    const auto last =
        std::ranges::find_if(candidates_.rbegin(), candidates_.rend(), [&](const Candidate& each) {
          return each.row.other == row.other && !each.is_headroom && curve != nullptr &&
                 std::ranges::count(curve->cases, each.row.of) > 0;
        });
    const auto place = last == candidates_.rend() ? candidates_.end() : last.base();
    candidates_.insert(place, {row, rank, answer_label(row.of->definition())});
  }

  /// Speaks within kMostSentences of what a setting changed most the other way than what changed
  /// most of all: a sentence about its curve says it, else one of its own.
  void speak_of_contrary(Answer& answer) const {
    const auto has_names = [](const AnswerRow& row) {
      return row.comparison() != nullptr && is_of_setting(row);
    };
    const auto first = std::ranges::find_if(answer.spoken, has_names);
    if (first == answer.spoken.end()) return;
    AnswerRow most;
    for (const std::size_t other : others_) {
      const AnswerRow row = most_of_run(other, contrary_of(first->comparison()->verdict));
      if (!has_names(row)) continue;
      if (change_interval(row.comparison()).low > change_interval(most.comparison()).low) {
        most = row;
      }
    }
    if (most.of == nullptr || changes_little(most.comparison())) return;
    auto place = std::ranges::find_if(answer.spoken, [&](const AnswerRow& row) {
      const Curve* const curve = summary_.curve_with(row.of);
      return row.other == most.other && curve != nullptr && curve == summary_.curve_with(most.of);
    });
    if (place == answer.spoken.end()) place = answer.spoken.insert(place, most);
    const auto last = answer.spoken.begin() + kMostSentences - 1;
    if (place - last > 0) std::rotate(last, place, place + 1);
  }

  void leave_out(const Candidate& each, Answer& answer) const {
    const bool has_variant =
        each.is_headroom || std::ranges::count(answer.rows, each.row.other, &AnswerRow::other) > 0;
    const std::string& variant = each.row.of->result->variants[each.row.other].variant;
    const bool has_case = std::ranges::count(answer.rows, each.row.of, &AnswerRow::of) > 0;
    const std::string name = !has_variant                    ? "variant " + variant
                             : has_case && !each.is_headroom ? each.name + " against " + variant
                                                             : each.name;
    if (std::ranges::count(answer.left_out, name) == 0) answer.left_out.push_back(name);
  }

  const RunSummary& summary_;
  std::vector<std::size_t> others_;  ///< places of the later variants; 0 alone where there are none
  std::vector<Candidate> candidates_;
  std::vector<const CaseSummary*> spoken_headroom_;
  bool has_other_headroom_ = false;
  std::set<OperationKind> seen_;
  /// Beside sums between a product and a norm, and copies, which say what the link gives.
  bool has_more_than_decoder_ = false;
};

}  // namespace

Answer answer_of(const RunSummary& summary, std::size_t most_rows) {
  return summary.is_of_program() ? answer_of_program(summary, most_rows)
                                 : RowChoice(summary).take(most_rows);
}

std::string answer_label(const Case& definition) {
  return definition.training ? "GPT-2 step " + training_label(definition) : case_label(definition);
}

namespace {

/// Tells whether the run has the case by the other launch mode, too.
bool has_other_launch(const RunSummary& summary, const Case& definition) {
  return std::ranges::any_of(summary.cases, [&](const CaseSummary& each) {
    Case own = each.definition();
    if (own.launch == definition.launch) return false;
    own.launch = definition.launch;
    return own == definition;
  });
}

/// Leaves out of a case how it was launched and its pair, where no other one differs in these.
Case spoken_form(const RunSummary& summary, const Case& definition) {
  Case form = definition;
  if (!has_other_launch(summary, definition)) form.launch = LaunchMode::stream;
  const bool has_other_pair = std::ranges::any_of(summary.cases, [&](const CaseSummary& each) {
    Case own = each.definition();
    if (own.pair == definition.pair) return false;
    own.pair = definition.pair;
    return own == definition;
  });
  if (form.pair && !form.pair->both && form.ranks == 2 && !has_other_pair) form.pair.reset();
  return form;
}

}  // namespace

std::string spoken_case_of(const RunSummary& summary, const Case& definition) {
  return spoken_case(spoken_form(summary, definition), word_for_ranks(summary.record.machine),
                     has_other_launch(summary, definition));
}

std::string spoken_curve_of(const RunSummary& summary, const Case& definition) {
  return spoken_curve(spoken_form(summary, definition), word_for_ranks(summary.record.machine),
                      has_other_launch(summary, definition));
}

}  // namespace linkgain
