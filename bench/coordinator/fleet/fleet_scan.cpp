#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_scanner.hpp"
#include "linkgain/fleet/fleet_record.hpp"
#include "linkgain/record/json_conversions.hpp"

namespace linkgain {
namespace {

GpuInfo scan_gpu(JsonScanner& in) {
  GpuInfo gpu;
  in.object([&](std::string_view key) {
    if (key == "cuda_index") {
      gpu.cuda_index = static_cast<int>(in.integer());
    } else if (key == "name") {
      gpu.name = in.string();
    } else if (key == "uuid") {
      gpu.uuid = in.string();
    } else if (key == "nvlink_links_active") {
      const auto links = in.integer_or_null();
      if (links) gpu.nvlink_links_active = static_cast<int>(*links);
    } else {
      in.skip();
    }
    return true;
  });
  return gpu;
}

RankInfo scan_rank(JsonScanner& in) {
  RankInfo rank;
  in.object([&](std::string_view key) {
    if (key == "rank") {
      rank.rank = static_cast<int>(in.integer());
    } else if (key == "host") {
      rank.host = in.string();
    } else if (key == "gpu" && in.is_object()) {
      rank.gpu = scan_gpu(in);
    } else {
      in.skip();
    }
    return true;
  });
  return rank;
}

PairLink scan_link(JsonScanner& in) {
  PairLink link;
  in.object([&](std::string_view key) {
    if (key == "from") {
      link.from = static_cast<int>(in.integer());
    } else if (key == "to") {
      link.to = static_cast<int>(in.integer());
    } else if (key == "p2p") {
      link.p2p = in.boolean_or_null();
    } else if (key == "nvlink") {
      link.nvlink = in.boolean_or_null();
    } else if (key == "ancestor") {
      link.ancestor = json::ancestor_of(in.string_or_null());
    } else if (key == "nvlinks") {
      const auto links = in.integer_or_null();
      if (links) link.nvlinks = static_cast<int>(*links);
    } else {
      in.skip();
    }
    return true;
  });
  return link;
}

Software scan_software(JsonScanner& in) {
  Software software;
  in.object([&](std::string_view key) {
    if (key == "driver") {
      software.driver = in.string_or_null();
    } else if (key == "nccl_library") {
      software.nccl_library = in.string_or_null();
    } else {
      in.skip();
    }
    return true;
  });
  return software;
}

Machine scan_machine(JsonScanner& in) {
  Machine machine;
  in.object([&](std::string_view key) {
    if (key == "host") {
      machine.host = in.string();
    } else if (key == "processor") {
      machine.processor = in.string();
    } else if (key == "software") {
      machine.software = scan_software(in);
    } else if (key == "ranks") {
      in.array([&] { machine.ranks.push_back(scan_rank(in)); });
    } else if (key == "links") {
      in.array([&] { machine.links.push_back(scan_link(in)); });
    } else {
      in.skip();
    }
    return true;
  });
  return machine;
}

void scan_health(JsonScanner& in, FleetValue& value) {
  in.object([&](std::string_view key) {
    if (key == "samples") {
      value.samples = static_cast<std::int32_t>(in.integer());
    } else if (key == "unhealthy_samples") {
      value.unhealthy_samples = static_cast<std::int32_t>(in.integer());
    } else {
      in.skip();
    }
    return true;
  });
}

void scan_verification(JsonScanner& in, FleetValue& value) {
  in.object([&](std::string_view key) {
    if (key == "wrong") {
      value.wrong_data = in.integer() > 0;
    } else {
      in.skip();
    }
    return true;
  });
}

/// Its variant's name goes to `variant`; it has no number yet.
FleetValue scan_variant(JsonScanner& in, std::string& variant) {
  FleetValue value;
  in.object([&](std::string_view key) {
    if (key == "variant") {
      variant = in.string();
    } else if (key == "time_s") {
      value.seconds = static_cast<float>(in.number_or_null().value_or(0.0));
    } else if (key == "path") {
      value.path = parse_path(in.string());
    } else if (key == "health" && in.is_object()) {
      scan_health(in, value);
    } else if (key == "verification" && in.is_object()) {
      scan_verification(in, value);
    } else {
      in.skip();
    }
    return true;
  });
  return value;
}

/// The case's name may stand behind its variants.
void scan_case(JsonScanner& in, FleetRecord& record, FleetNames& names) {
  std::string case_name;
  std::vector<std::string> variants;
  const std::size_t first = record.values.size();
  in.object([&](std::string_view key) {
    if (key == "case") {
      case_name = in.string();
    } else if (key == "variants") {
      in.array([&] { record.values.push_back(scan_variant(in, variants.emplace_back())); });
    } else {
      in.skip();
    }
    return true;
  });
  if (case_name.empty()) throw UsageError("not a valid record: a case has no name");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    record.values.at(first + i).name = names.number_of(case_name, variants[i]);
  }
}

void scan_settings(JsonScanner& in, FleetRecord& record) {
  in.object([&](std::string_view key) {
    if (key == "launches") {
      record.launches = static_cast<int>(in.integer());
    } else {
      in.skip();
    }
    return true;
  });
}

/// One member of the record.
void scan_member(JsonScanner& in, std::string_view key, FleetRecord& record, FleetNames& names) {
  if (key == "schema") {
    json::require_known_schema(in.string());
  } else if (key == "started") {
    record.started = in.string();
  } else if (key == "status") {
    record.status = in.string();
  } else if (key == "exit_code") {
    record.exit_code = static_cast<int>(in.integer());
  } else if (key == "machine") {
    record.machine = scan_machine(in);
  } else if (key == "settings") {
    scan_settings(in, record);
  } else if (key == "cases") {
    in.array([&] { scan_case(in, record, names); });
  } else {
    in.skip();
  }
}

/// The first member that a record needs and that was not seen; empty where none lacks.
std::string lacking(const std::vector<std::string>& seen) {
  for (const std::string needed : {"status", "machine", "settings", "cases", "samples"}) {
    if (std::find(seen.begin(), seen.end(), needed) == seen.end()) return needed;
  }
  return {};
}

void require_all(const std::vector<std::string>& seen) {
  const std::string needed = lacking(seen);
  if (needed.empty()) return;
  throw UsageError(fmt::format("not a valid record: it has no member '{}'", needed));
}

/// As records are written: the schema first, the samples last. Nothing where members stand
/// otherwise, or the text ends before the samples.
std::optional<FleetRecord> scan_to_samples(std::string_view text, FleetNames& names) try {
  FleetRecord record;
  std::vector<std::string> seen;
  JsonScanner in(text);
  const bool whole = in.object([&](std::string_view key) {
    if (seen.empty() && key != "schema") return false;
    seen.emplace_back(key);
    if (key == "samples") return false;
    scan_member(in, key, record, names);
    return true;
  });
  if (whole) require_all(seen);
  return lacking(seen).empty() ? std::optional(std::move(record)) : std::nullopt;
} catch (const JsonScanError&) {
  return std::nullopt;
}

/// A first pass finds out whether it is a record at all.
FleetRecord scan_whole(std::string_view text, FleetNames& names) {
  std::string schema;
  JsonScanner first(text);
  first.object([&](std::string_view key) {
    if (key == "schema") {
      schema = first.string();
    } else {
      first.skip();
    }
    return true;
  });
  json::require_known_schema(schema);
  FleetRecord record;
  std::vector<std::string> seen;
  JsonScanner in(text);
  in.object([&](std::string_view key) {
    seen.emplace_back(key);
    scan_member(in, key, record, names);
    return true;
  });
  require_all(seen);
  return record;
}

}  // namespace

FleetRecord scan_fleet_record(std::string_view text, FleetNames& names, const WholeText& whole) {
  try {
    std::optional<FleetRecord> record = scan_to_samples(text, names);
    return record ? *std::move(record) : scan_whole(whole ? whole() : text, names);
  } catch (const JsonScanError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace linkgain
