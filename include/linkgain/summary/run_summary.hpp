#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/soak.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/race/tuning.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/summary/curve_steps.hpp"
#include "linkgain/summary/pair_matrix.hpp"

/// What there is to say of a run, found out once: everything in a report is written from it.
namespace linkgain {

/// What the first variant has that the other one lacks, as far as the record shows it.
enum class Contrast {
  nvlink,         ///< NVLink carried the first variant's bytes, and not the other's
  p2p,            ///< P2P is off in the other variant; of a program that alone
  shared_memory,  ///< the mpi backend's own pair
  variant,        ///< anything else: the variants' names tell
};

/// The first variant of a case against a later one, the reference.
struct Comparison {
  const VariantResult* first = nullptr;
  const VariantResult* other = nullptr;
  Contrast contrast = Contrast::variant;
  const Estimate* ratio = nullptr;     ///< null where there is none
  Verdict verdict = Verdict::missing;  ///< judge_variants()
  std::vector<Reason> reasons{};       ///< of the same
  /// Whether the interval is as narrow as was asked for: the case converged, or, of several, this.
  bool is_precise = false;

  bool has(Reason::Kind kind) const;
  bool has_interval() const { return ratio != nullptr && ratio->interval; }
  /// Tells whether the ratio is one to be shown.
  bool has_speed_up() const { return linkgain::has_speed_up(verdict); }
};

/// What one variant gave for one case, and what follows from it.
struct VariantSummary {
  const VariantResult* result = nullptr;
  bool wrong_data = false;
  bool is_control = false;                  ///< Variant::is_control
  std::optional<Interval> time_interval{};  ///< as LaunchMean has it
  std::optional<double> limit_share{};      ///< shown_fraction()
  std::optional<double> nvlink_share{};     ///< of the bytes expected; absent where not judged
  std::optional<Estimate> library_ratio{};  ///< of our own kernel's cases
  Verdict beside_library = Verdict::missing;
  std::optional<Estimate> exposed{};  ///< in seconds, of trainings that communicate
  bool losses_parted = false;
  std::size_t launches = 0;  ///< that gave a number
  // A program's.
  EndedRuns ended{};
  std::optional<double> nvlink_bytes{};  ///< that its GPUs sent in a run; absent if not counted
  std::string connections{};             ///< readable_connections() of NCCL's log
};

struct CaseSummary {
  const CaseResult* result = nullptr;
  /// How its table is headed: as its comparison, Contrast::variant where there are several beside a
  /// control.
  Contrast contrast = Contrast::variant;
  std::vector<VariantSummary> variants{};
  /// Every later variant against the first, skipped ones included.
  std::vector<Comparison> comparisons{};
  std::optional<Remedy> remedy{};     ///< where it did not converge
  std::optional<std::string> link{};  ///< what joins its pair, "NV18"; absent where not known
  bool has_wrong_data = false;
  bool is_measured = false;  ///< a variant has a time
  bool is_compared = false;  ///< the first variant and another one have times

  const Case& definition() const { return result->definition; }
  /// Counts the variants without a control.
  std::size_t arms() const;
  /// Finds it; null where the case has no such variant.
  const VariantSummary* find(std::string_view variant) const;
};

/// Cases that one table shows.
struct Curve {
  std::string name;
  std::vector<const CaseSummary*> cases{};
  std::vector<std::string> variants{};        ///< of all cases, in order of appearance
  std::map<std::string, Path> usual_paths{};  ///< by variant, where it measured something
  bool is_judged = false;                     ///< some variant has an nvlink_share
  std::vector<std::pair<std::string, CurveStep>> steps{};  ///< by variant and size
  bool is_in_full = true;  ///< of a condensed summary the first of each operation

  /// Gives the smallest case's, with the launch mode of the largest.
  Case definition() const;
  /// Tells whether some cases were launched by graph and some by stream.
  bool mixes_launches() const;
};

/// Makes a curve of these cases.
Curve curve_of(std::string name, std::vector<const CaseSummary*> cases);

/// What one variant gave between all pairs.
struct PairMatrixSummary {
  PairMatrix matrix;
  std::vector<WeakestPair> weakest;  ///< of every label; empty where there are no two pairs
  std::vector<double> values;        ///< of the measured entries
};

/// Cases that differ in the ranks of their pair only, two or more.
struct PairsSummary {
  Curve cases;
  std::vector<PairMatrixSummary> matrices;
  bool is_symmetric = false;
  bool by_pair = true;  ///< the only size: its cases have a table with a row for each
};

/// Cases that differ in their size and in their pair's ranks only. Those that differ in their
/// launch mode, too, are one where no size has both; steps are looked for within one mode all the
/// same.
struct CaseGroup {
  Curve all;                    ///< by size
  std::vector<Curve> curves{};  ///< the same for each pair, but for those by_pair
  /// Has the smallest and the largest size that was measured between several pairs.
  std::vector<PairsSummary> pairs{};
  /// Whether the answer has a row for it: of more groups than anybody reads the first of each
  /// operation; wrong data is never left out.
  bool is_in_answer = true;
};

/// Over how many launches intervals are: the fewest and the most.
struct LaunchRange {
  int least = 0;
  int most = 0;

  void add(int launches) {
    least = least == 0 ? launches : std::min(least, launches);
    most = std::max(most, launches);
  }
  bool is_one() const { return least == most; }
  /// Says "6 launches", "6 to 8 launches".
  std::string text(std::string_view one = "launch", std::string_view many = "launches") const;
};

/// Figures of a record, which must live as long. Of a race they are those of its confirming_part().
class RunSummary {
  std::optional<Record> confirming_;  ///< of a race

 public:
  explicit RunSummary(const Record& record);
  RunSummary(const RunSummary&) = delete;
  RunSummary& operator=(const RunSummary&) = delete;

  /// Tells whether values of pairs, above 0, lie further apart than the run's precision: the
  /// largest of them over the smallest. Nearer ones do not tell which pair is weaker.
  bool differ(const std::vector<double>& values) const;
  /// Finds the case that stands for a curve, of those that `has` is true of, as is_compared: the
  /// largest size, of latencies the smallest; of several pairs right data before wrong, then the
  /// pair that takes longest with the first variant, or the first of a matrix where none differs.
  /// Null where there is none.
  const CaseSummary* main_case(const Curve& curve,
                               const std::function<bool(const CaseSummary&)>& has) const;
  /// Gives the share by which values must differ(): the precision asked for, else 1 %.
  double distinct() const;
  /// Tells whether it is of `linkgain exec`: its cases are the metrics of a program.
  bool is_of_program() const { return record.settings.program.has_value(); }
  /// Tells whether cases were sampled to their end and no sample is there, as of an edited record.
  bool lacks_samples() const;

  const Record& record;
  std::optional<Tuning> tuning;    ///< of a race, by case as `cases` are
  std::vector<CaseSummary> cases;  ///< in the record's order

  LaunchRange launches;  ///< of all ratios; of a run without any, of its samples

  /// All cases but trainings and a program's metrics, in order of appearance.
  std::vector<CaseGroup> groups;
  /// Whether there are more curves than anybody reads. Reports then have those in full that
  /// are_in_full, and a row for each kind of the others.
  bool is_condensed = false;

  /// Lists the cases of a program's metric, at each value of the axis.
  std::vector<const CaseSummary*> along_axis(const ProgramMetric& metric) const;

  /// Lists the curves of all groups, and what there is of pairs.
  std::vector<const Curve*> curves() const;
  /// Finds the curve that has the case; null where none has, as of trainings.
  const Curve* curve_with(const CaseSummary* of) const;
  std::vector<const PairsSummary*> pairs() const;

  std::vector<const CaseSummary*> trainings;  ///< that communicate and were measured
  std::vector<const CaseSummary*> missing_trainings;

  std::optional<SoakSummary> soak;  ///< absent of other profiles

  /// All samples; absent where there is nothing to say of GPUs.
  std::optional<HealthSummary> health;
  std::vector<std::pair<std::string, HealthSummary>> health_of_variants;

  /// Whether ranks and GPUs have the same numbers, also for nvidia-smi and `linkgain topo`.
  bool ranks_are_gpus = false;

 private:
  void find_mixed_launches();
  Case as_shown(Case definition) const;
  void add_groups();
  void add_curves(CaseGroup& group) const;
  void add_steps(Curve& curve) const;
  void condense();
  void add_trainings();
  void add_health();

  std::set<std::string> mixed_launches_;  ///< groups that have both modes, and at no size both
};

}  // namespace linkgain
