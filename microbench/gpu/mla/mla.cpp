#include "microbench/gpu/mla/mla.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/random.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kCheckedTokens = 1ULL << 14;
constexpr std::size_t kSampledRequests = 4;

double tokens_of(const MlaOptions& options) {
    double sum = 0;
    for (const std::int32_t length : options.lengths) sum += length;
    return sum;
}

struct SuiteRow {
    RowSet from;
    std::string_view preset;
    std::int32_t heads;
    std::size_t batch;
    std::int32_t context;
    std::int32_t page = 64;
    PageOrder order = PageOrder::random;
};

// deepseek-ai/DeepSeek-V3 has 128 query heads and rows of 512 latent and 64 rotary dimensions. On eight GPUs
// each GPU has 16 heads.
constexpr SuiteRow kSuite[] = {
    {RowSet::quick, "deepseek-v3-tp8", 16, 64, 8192},
    {RowSet::standard, "deepseek-v3-tp8", 16, 128, 4096},
    {RowSet::standard, "deepseek-v3-tp8", 16, 64, 8192, 16},
    {RowSet::full, "deepseek-v3", 128, 64, 8192},  // eight tiles of heads read each row, so that L2 bounds it
    {RowSet::full, "deepseek-v3-tp8", 16, 1, 32768},
    {RowSet::full, "deepseek-v3-tp8", 16, 16, 32768},
    {RowSet::full, "deepseek-v3-tp8", 16, 64, 8192, 64, PageOrder::sequential},
};

}  // namespace

std::string name_of(const MlaOptions& options) {
    const auto [least, most] = std::minmax_element(options.lengths.begin(), options.lengths.end());
    return fmt::format("mla/preset:{}/kv:bf16/batch:{}/ctx:{}/page:{}/order:{}", options.preset,
                       options.lengths.size(),
                       *least == *most ? fmt::format("{}", *least) : fmt::format("{}..{}", *least, *most),
                       options.page, name_of(options.order));
}

Work mla_work(const MlaOptions& options) {
    const double tokens = tokens_of(options);
    const double row_bytes = kMlaRow * 2;
    const auto pages = pages_for(options.lengths, static_cast<std::uint32_t>(options.page));
    return {.read_bytes = tokens * row_bytes + static_cast<double>(pages * sizeof(std::int32_t)) +
                          static_cast<double>(options.queries()) * 2,
            .written_bytes = static_cast<double>(options.outputs()) * sizeof(float),
            .flops = 2 * tokens * options.heads * (kMlaRow + kMlaValue)};
}

MlaCall mla_call(const MlaOptions& options, std::int32_t stages) {
    MlaCall call;
    call.heads = options.heads;
    call.page_shift = std::countr_zero(static_cast<std::uint32_t>(options.page));
    call.stages = stages;
    call.score_scale = kLog2E / std::sqrt(192.F);  // 192 = 128 + 64 dimensions of a head before absorption
    return call;
}

SplitOptions split_options(const MlaOptions& options, std::int32_t blocks) {
    return {.heads = options.head_tiles(), .tile = kMlaTokens, .blocks = blocks};
}

std::vector<double> cached_rows(const MlaOptions& options, const PageTable& table, std::size_t request,
                                std::uint64_t seed) {
    constexpr auto kRow = static_cast<std::size_t>(kMlaRow);
    std::vector<double> rows;
    for (std::int32_t token = 0; token < options.lengths[request]; ++token) {
        const auto page = table.pages[static_cast<std::size_t>(table.first[request] + token / options.page)];
        const std::uint64_t row =
            static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(options.page) +
            static_cast<std::uint64_t>(token % options.page);
        for (std::size_t d = 0; d < kRow; ++d)
            rows.push_back(number_of(KvFormat::bf16, random_code(KvFormat::bf16, seed, row * kRow + d)));
    }
    return rows;
}

std::vector<double> mla_reference(const MlaOptions& options, const PageTable& table, std::size_t request,
                                  std::uint64_t seed) {
    constexpr auto kRow = static_cast<std::size_t>(kMlaRow);
    constexpr auto kValue = static_cast<std::size_t>(kMlaValue);
    const std::vector<double> keys = cached_rows(options, table, request, seed);
    std::vector<double> values;
    for (std::size_t at = 0; at < keys.size(); at += kRow) {
        const auto row = keys.begin() + static_cast<std::ptrdiff_t>(at);
        values.insert(values.end(), row, row + static_cast<std::ptrdiff_t>(kValue));
    }
    std::vector<double> out;
    for (std::size_t head = 0; head < static_cast<std::size_t>(options.heads); ++head) {
        std::vector<double> q(kRow);
        const std::size_t at = (request * static_cast<std::size_t>(options.heads) + head) * kRow;
        for (std::size_t d = 0; d < kRow; ++d) {
            q[d] = static_cast<double>(query_number(KvFormat::bf16, seed, at + d));
        }
        const auto one = attention_reference(q, keys, values, 1 / std::sqrt(192.0));
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

std::vector<std::size_t> requests_to_check(const MlaOptions& options, std::uint64_t seed) {
    const std::size_t count = options.lengths.size();
    std::vector<std::size_t> requests;
    if (tokens_of(options) <= static_cast<double>(kCheckedTokens) || count <= kSampledRequests) {
        for (std::size_t i = 0; i < count; ++i) requests.push_back(i);
        return requests;
    }
    Random random(derived_seed(seed, "checked requests"));
    requests = {0, count - 1};
    while (requests.size() < kSampledRequests) requests.push_back(random.below(count));
    return requests;
}

std::vector<MlaOptions> mla_suite(RowSet set) {
    std::vector<MlaOptions> suite;
    if (set == RowSet::checks) {
        for (const std::int32_t page : {16, 64}) {
            suite.push_back({.preset = fmt::format("edges{}", page),
                             .heads = page == 16 ? 16 : 24,
                             .page = page,
                             .lengths = {1, 15, 17, 31, 32, 33, 63, 65, 300}});
        }
        return suite;
    }
    for (const SuiteRow& row : kSuite) {
        if (row.from > set) continue;
        suite.push_back({.preset = std::string(row.preset),
                         .heads = row.heads,
                         .order = row.order,
                         .page = row.page,
                         .lengths = std::vector<std::int32_t>(row.batch, row.context)});
    }
    return suite;
}

}  // namespace paretoken::microbench::gpu
