#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/statistics/launch_shift.hpp"
#include "linkgain/summary/curve_steps.hpp"

/// What a record knows of a link's times at any size.
namespace linkgain {

/// Who reduces: the library as programs call it (of the mpi backend MPI), NCCL in memory that all
/// ranks registered, or linkgain's kernel.
enum class Reducer { nccl, symmetric, kernel };

template <>
inline constexpr auto kNames<Reducer> = names<Reducer>("reducer",
                                                       {{Reducer::nccl, "nccl"},
                                                        {Reducer::symmetric, "symmetric"},
                                                        {Reducer::kernel, "kernel"}});

/// Times over a size, from launches that were measured at some sizes.
class TimeCurve {
 public:
  struct Point {
    double at = 0.0;  ///< above 0: bytes, or tokens
    LaunchMean mean;
  };

  /// Takes one point or more, in any order.
  explicit TimeCurve(std::vector<Point> points);

  double smallest() const { return points_.front().at; }
  double largest() const { return points_.back().at; }

  /// Interpolates the logarithm of time over that of size. Its resolution has what the straight
  /// line between the two sizes, latency and size over bandwidth, would give instead; within a step
  /// of find_steps() the time is midway between what the sizes before and after it promise, and the
  /// resolution reaches to both. Launches that are slow at one size count as slow at the next.
  /// Above the largest size time grows in proportion to it. Throws std::out_of_range below the
  /// smallest.
  LaunchMean at(double size) const;

 private:
  LaunchMean between(const Point& before, const Point& after, double size) const;

  std::vector<Point> points_;
  std::vector<CurveStep> steps_;
};

/// Propagates what launches leave open of several times to a positive figure that follows from
/// them, to the first order: the variance of its logarithm is the sum of theirs, each times the
/// square of d log(figure) / d log(time), with Satterthwaite's degrees of freedom as between
/// launches elsewhere. No interval where a time that matters is of one launch.
Estimate propagated(std::span<const LaunchMean> times,
                    const std::function<double(std::span<const double>)>& figure);

/// Makes a time of arithmetic, that launches leave nothing open of.
LaunchMean exact_time(Seconds time);

/// One way from GPU to GPU.
struct LinkSide {
  std::string variant;
  std::string name;  ///< for sentences: "NVLink", "host"
  /// By reducer, in context or back to back, over bytes.
  std::map<std::pair<Reducer, bool>, TimeCurve> curves{};
  /// One way, 1e9 B/s, in the place of curves: a link that was not there.
  std::optional<double> limit{};
  Path path = Path::unknown;  ///< that its largest all-reduce took
};

/// A training that communicates, on both sides; where the link was not there, in its place the same
/// without communication.
struct TrainingRow {
  Case definition;
  LaunchMean link;
  LaunchMean other;
  std::optional<LaunchMean> alone{};  ///< the same step without communication
};

/// Whose all-reduces a prediction takes.
struct ChosenCurves {
  Reducer reducer = Reducer::nccl;  ///< on the link; without it frameworks use the library
  bool in_context = false;
};

/// What a record tells of its link.
struct MeasuredLink {
  int ranks = 2;
  std::string gpus;               ///< "2 x NVIDIA H200"; of CPU memory "2 ranks in CPU memory"
  std::int64_t memory_bytes = 0;  ///< of a GPU; 0: not known
  DataType back_to_back_type = DataType::float32;
  LinkSide link;
  LinkSide other;
  /// Times of a product and a norm for each of a rank's weights, by hidden size, over tokens.
  std::map<int, TimeCurve> products{};
  std::vector<TrainingRow> trainings{};

  bool is_at_most() const { return link.limit.has_value(); }
  /// Gives the type of those; between a product and a norm all is bfloat16.
  DataType type_of(const ChosenCurves& curves) const {
    return curves.in_context ? DataType::bfloat16 : back_to_back_type;
  }
  /// Takes curves in context first for a decoder, and back to back first for a training, whose
  /// all-reduces follow each other on a stream of their own; the others where these begin above
  /// `smallest` bytes. Throws UsageError with the reducers that there are where both sides lack
  /// this one.
  ChosenCurves choose(Reducer reducer, bool in_context_first = true, double smallest = 0.0) const;
  /// Times an all-reduce of so many bytes. Throws UsageError below the smallest size measured.
  LaunchMean all_reduce(const LinkSide& side, const ChosenCurves& curves, double bytes) const;
  /// Returns the largest size of that curve; of a link that was not there of the other side's.
  double largest(const ChosenCurves& curves) const;
};

/// Reads the all-reduces over so many ranks, or over those that most have: back to back of the type
/// with most sizes, as graphs where there are both launch modes. The link is the first variant's;
/// the other one is `host`, or the second. Where none took the link that the GPUs could have, its
/// published limit stands in, compared with the variant `today`: without a name that of PCIe P2P,
/// or the other one. Throws UsageError where the record does not have two sizes of both, or no such
/// variant.
MeasuredLink measured_link(const Record& record, std::optional<int> ranks,
                           const std::string& today = {});

}  // namespace linkgain
