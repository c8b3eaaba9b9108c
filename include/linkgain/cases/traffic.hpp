#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkgain/cases/case.hpp"

// What operations must move over the links between GPUs.

namespace linkgain {

/// What an operation's messages are cut into and which way they go round, by the names that NCCL's
/// TUNING log has for the call, or our own kernel; empty where nothing says it. NCCL may have names
/// that are not known here: what is known of one is its Algorithm and Protocol.
struct TransferPlan {
  std::string algorithm;  ///< "RING", "TREE", "NVLS", ...; of symmetric memory the kernel's name
  std::string protocol;   ///< "SIMPLE", "LL", "LL128"
  std::optional<int> blocks{};  ///< of threads, on each GPU: of NCCL's kernel one a channel
  bool operator==(const TransferPlan&) const = default;
};

/// Algorithms of which something is known.
enum class Algorithm {
  unnamed,
  ring,
  tree,
  pat,
  nvls,      ///< NVLink multicast, by itself or as part of a tree
  one_shot,  ///< our own kernels': all data to all ranks
  two_shot,  ///< to each rank its share, and the sums back
  other,
};
Algorithm algorithm_called(std::string_view name);

enum class Protocol {
  unnamed,
  simple,  ///< messages are nothing but their data
  ll,
  ll16,      ///< our own kernels' once
  sentinel,  ///< our own kernels'
  ll128,
  other,
};
Protocol protocol_called(std::string_view name);

/// The name of Protocol::simple.
inline constexpr std::string_view kSimple = "SIMPLE";

/// Returns bytes on the link for each byte of payload, by the lines that a protocol sends: LL 8
/// bytes of which 4 are data, LL128 128 of which 120 are; our own kernels' LL16 16 of which 12 are.
/// SIMPLE and our own kernels' SENTINEL send data alone. Absent for others.
std::optional<double> link_bytes_per_byte(Protocol protocol);

/// Returns whether it is known what an operation moves by an algorithm; of messages no algorithm
/// matters.
bool is_known(OperationKind operation, Algorithm algorithm);

/// Returns the most payload that one rank sends or receives for one operation. In NCCL's trees a
/// rank is an inner one, with two children and a parent, for half of the data and a leaf for the
/// other half; what is known of no plan is taken for as much as can be.
double largest_payload_of_a_rank(const Case& c, Algorithm algorithm);

/// Returns bytes that all ranks' GPUs together send over the links between them for one operation.
/// Ring and tree all_reduce: 2 (n-1) S, as every byte but one rank's own crosses a link on its way
/// to the sum and once more on its way back. Ring and PAT all_gather and reduce_scatter, ring
/// broadcast and reduce, alltoall: (n-1) S. gather, scatter: (n-1)/n S. send_recv: S for each
/// message; ping_pong, latency: S; copies as send_recv, all_to_one and one_to_all (n-1) S;
/// gpt2_step: training_payload(). Protocol LL sends a flag of 4 bytes with every 4 bytes, LL128 one
/// of 8 with every 120. Absent for plans whose traffic is not known (NVLS, CollNet) and for those
/// without algorithm where the operation needs one.
std::optional<double> expected_bytes(const Case& c, const TransferPlan& plan);

/// Returns the size of one message if the operation is made of messages: S, or one rank's part to
/// one other; what load_latency loads from is a line. For other operations it is S.
Bytes message_size(const Case& c);

}  // namespace linkgain
