#pragma once
// Joins the run directories of the shards of one load (core/plan/shard.h) into the directory of the whole
// load. The records are copied as they are, because all shards count their times from one common start.
#include <filesystem>
#include <map>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The largest errors in seconds of the clocks of shards, by shard, against that of shard 0.
using ClockErrors = std::map<std::uint32_t, double>;

/// Joins the shards in `directories` and writes the run directory `out`, in place of a run there. Missing
/// shards are named in the result, which is partial then. Throws UsageError for a directory without a shard,
/// shards of different loads or given twice; RuntimeError if `out` cannot be written.
RunResult join_shards(const std::vector<std::filesystem::path>& directories, const std::filesystem::path& out,
                      const ClockErrors& clocks = {});

}  // namespace paretoken::reports
