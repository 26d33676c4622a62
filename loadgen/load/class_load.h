#pragma once
// The load of each class of requests, as values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/model_mix.h"
#include "core/run/load_shape.h"
#include "loadgen/load/arrival.h"
#include "loadgen/load/limits.h"
#include "loadgen/load/pacing.h"

namespace paretoken::loadgen {

struct ClassLoad {
    std::string name = {};  ///< name; empty means that requests have the class that their dataset gives them
    Arrivals arrivals = {};
    std::optional<std::uint64_t> concurrency = {};  ///< in-flight cap; needed when arrivals are at once
    Pacing pacing = {};
    Limits limits = {};
    std::uint64_t seed = 0;
    std::uint64_t first_place = 0;  ///< place of its first measured job in the dataset; later ones follow it
    std::optional<std::int64_t> priority = {};  ///< priority sent with each request
    /// The models from which one is drawn for each conversation whose requests name none in the dataset. With
    /// fewer than two, the requests have the run's model.
    std::vector<ModelShare> models = {};
    const datasets::Dataset* dataset = nullptr;  ///< must outlive every mix made of it
};

/// The classes of a load taken together, for the code that judges the load.
struct CombinedLoad {
    bool open_loop = false;  ///< whether at least one class is an open loop
    bool stationary = true;  ///< whether the arrivals of every class are stationary
    std::vector<LoadPart> constant_rate = {LoadPart{}};  ///< parts in which every class has a constant rate
    double request_rate = 0;                        ///< mean requests/s of all open loops during the load
    std::optional<std::uint64_t> concurrency = {};  ///< sum of the caps; absent if a class has none, or if
                                                    ///< there are several classes and one is an open loop
    std::optional<std::uint64_t> filled_cap = {};   ///< `concurrency`, if the requests in flight can fill it:
                                                    ///< absent with a think time, a further cap, or jobs,
                                                    ///< whose agents wait for each other and for tools
    Limits limits = {};                             ///< those of the first class, but `requests` is the sum
                                                    ///< over all classes; absent if one has no such limit
};
/// There must be at least one class.
CombinedLoad combined(const std::vector<ClassLoad>& classes);

}  // namespace paretoken::loadgen
