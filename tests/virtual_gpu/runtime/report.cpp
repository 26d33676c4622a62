#include "tests/virtual_gpu/runtime/report.h"

#include <nlohmann/json.hpp>

namespace paretoken::virtual_gpu {
namespace {

using Json = nlohmann::ordered_json;

void put_ratio(Json& object, const char* key, std::uint64_t a, std::uint64_t b) {
    if (b != 0) object[key] = static_cast<double>(a) / static_cast<double>(b);
}

Json json_of(const std::string& name, const KernelTotals& totals) {
    const LaunchReport& sum = totals.sum;
    Json object{{"name", name},
                {"launches", totals.launches},
                {"timed_only", totals.timed_only},
                {"seconds", totals.seconds},
                {"shared_bytes", totals.most_shared},
                {"warp_instructions", sum.warp_instructions},
                {"loaded_bytes", sum.loaded_bytes},
                {"stored_bytes", sum.stored_bytes},
                {"read_bytes", sum.read_bytes},
                {"written_bytes", sum.written_bytes},
                {"load_requests", sum.load_requests},
                {"load_sectors", sum.load_sectors},
                {"shared_requests", sum.shared_requests},
                {"shared_wavefronts", sum.shared_wavefronts},
                {"shared_least", sum.shared_least},
                {"mma_flops", sum.mma_flops}};
    put_ratio(object, "sectors_per_request", sum.load_sectors, sum.load_requests);
    put_ratio(object, "wavefronts_of_least", sum.shared_wavefronts, sum.shared_least);
    object["faults"] = totals.faults;
    return object;
}

}  // namespace

void add(KernelTotals& totals, const LaunchReport& report) {
    LaunchReport& sum = totals.sum;
    for (const auto field :
         {&LaunchReport::warp_instructions, &LaunchReport::loaded_bytes, &LaunchReport::stored_bytes,
          &LaunchReport::read_bytes, &LaunchReport::written_bytes, &LaunchReport::load_requests,
          &LaunchReport::load_sectors, &LaunchReport::shared_requests, &LaunchReport::shared_wavefronts,
          &LaunchReport::shared_least, &LaunchReport::mma_flops}) {
        sum.*field += report.*field;
    }
}

std::string json_of(const Report& report) {
    Json document{{"schema", "paretoken/virtual-gpu/1"}, {"gpu", report.gpu}, {"kernels", Json::array()}};
    for (const auto& [name, totals] : report.kernels) document["kernels"].push_back(json_of(name, totals));
    document["complaints"] = report.complaints;
    document["refusals"] = Json::array();
    for (const auto& [what, count] : report.refusals)
        document["refusals"].push_back({{"call", what.first}, {"status", what.second}, {"count", count}});
    return document.dump(1) + "\n";
}

}  // namespace paretoken::virtual_gpu
