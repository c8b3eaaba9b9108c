#include "linkgain/record/machine_key.hpp"
#include "linkgain/record/record_json.hpp"

namespace linkgain::json {
namespace {

Out nullable_text(const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); }

Out write_key_link(const KeyLink& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"nvlink", nullable(link.nvlink)},
          {"p2p", nullable(link.p2p)},
          {"ancestor", write_ancestor(link.ancestor)},
          {"nvlinks", nullable(link.nvlinks)}};
}

/// Baselines from before a pair's links were counted lack their number.
KeyLink read_key_link(const In& in) {
  return {in.at("from"),
          in.at("to"),
          optional_at<bool>(in, "nvlink"),
          optional_at<bool>(in, "p2p"),
          ancestor_of(optional_at<std::string>(in, "ancestor")),
          optional_at<int>(in, "nvlinks")};
}

}  // namespace

Out write_key(const MachineKey& key) {
  return {{"backend", name_of(key.backend)},
          {"ranks", key.ranks},
          {"hosts", key.hosts},
          {"gpus", key.gpus},
          {"nvlinks", array_of(key.nvlinks, nullable<int>)},
          {"links", array_of(key.links, write_key_link)},
          {"nccl", nullable_text(key.nccl)},
          {"processor", nullable_text(key.processor)},
          {"mpi", nullable_text(key.mpi)}};
}

MachineKey read_key(const In& in) {
  MachineKey key;
  key.backend = parse_backend(in.at("backend").get<std::string>());
  key.ranks = in.at("ranks");
  key.hosts = in.at("hosts");
  key.gpus = in.at("gpus").get<std::vector<std::string>>();
  key.nvlinks = vector_of<std::optional<int>>(in.at("nvlinks"), [](const In& links) {
    return links.is_null() ? std::nullopt : std::optional<int>(links.get<int>());
  });
  key.links = vector_of<KeyLink>(in.at("links"), read_key_link);
  key.nccl = optional_at<std::string>(in, "nccl").value_or("");
  key.processor = optional_at<std::string>(in, "processor").value_or("");
  key.mpi = optional_at<std::string>(in, "mpi").value_or("");
  return key;
}

}  // namespace linkgain::json
