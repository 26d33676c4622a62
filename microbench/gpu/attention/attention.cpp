#include "microbench/gpu/attention/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "microbench/cpu/formats.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kCheckedElements = 1ULL << 22;  // key elements that a check recomputes in fp64
constexpr std::size_t kSampledPairs = 6;

std::uint64_t tokens_seen(const AttentionOptions& options) {
    std::uint64_t sum = 0;
    for (const std::int32_t length : options.lengths) {
        sum += static_cast<std::uint64_t>(length - window_begin(length, options.seen_window()));
    }
    return sum;
}

/// Returns the number of pairs of a query token and a token that it sees.
std::uint64_t pairs_seen(const AttentionOptions& options) {
    std::uint64_t sum = 0;
    for (const std::int32_t length : options.lengths) {
        for (std::int32_t i = 0; i < options.q_len; ++i) {
            const std::int32_t end = seen_end(length, options.q_len, i);
            sum += static_cast<std::uint64_t>(end - window_begin(end, options.window));
        }
    }
    return sum;
}

/// Returns the index of the first element of one head of a query token, in the queries and in the results.
std::size_t place_of(const AttentionOptions& options, std::size_t request, std::int32_t token,
                     std::size_t head) {
    const std::size_t row =
        request * static_cast<std::size_t>(options.q_len) + static_cast<std::size_t>(token);
    return (row * options.heads.query_heads + head) * options.heads.head_dim;
}

std::vector<double> queries_of(const AttentionOptions& options, std::size_t at, std::uint64_t seed) {
    std::vector<double> q(options.heads.head_dim);
    for (std::size_t d = 0; d < q.size(); ++d) {
        q[d] = static_cast<double>(query_number(options.format, seed, at + d));
    }
    return q;
}

/// Returns the context length for the name: "4096", or "1..4096" if the requests differ.
std::string context_name(const std::vector<std::int32_t>& lengths) {
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    return *least == *most ? fmt::format("{}", *least) : fmt::format("{}..{}", *least, *most);
}

struct Model {
    std::string_view name;
    HeadShape heads;
    std::int32_t window = 0;
    bool sinks = false;
};

// Query heads, KV heads and head dimension, from the config.json of each model.
constexpr Model kLlama8b{"llama3-8b", {32, 8, 128}};
constexpr Model kLlama70b{"llama3-70b", {64, 8, 128}};
constexpr Model kLlama70bTp8{"llama3-70b-tp8", {8, 1, 128}};
constexpr Model kQwen235b{"qwen3-235b-a22b", {64, 4, 128}};
constexpr Model kGptOss{"gpt-oss-120b", {64, 8, 64}, 0, true};
constexpr Model kGptOssWindow{"gpt-oss-120b", {64, 8, 64}, 128, true};
constexpr Model kLlama2{"llama2-7b", {32, 32, 128}};        // every query head has its own KV head
constexpr Model kStarcoder{"starcoder-15b", {48, 1, 128}};  // all query heads share one KV head

struct SuiteRow {
    RowSet from;
    Model model;
    KvFormat format;
    std::size_t batch;
    std::int32_t context;
    std::int32_t page = 16;
    PageLayout layout = PageLayout::nhd;
    PageOrder order = PageOrder::random;
    std::int32_t q_len = 1;
    std::uint64_t least_pool_bytes = 0;
};

constexpr std::uint64_t kMega = 1'000'000;
constexpr std::uint64_t kGiga = 1000 * kMega;
constexpr auto kQuick = RowSet::quick;
constexpr auto kStandard = RowSet::standard;
constexpr auto kFull = RowSet::full;
constexpr auto kBf16 = KvFormat::bf16;
constexpr auto kFp16 = KvFormat::fp16;
constexpr auto kFp8 = KvFormat::fp8;
constexpr auto kInt8 = KvFormat::int8;
constexpr auto kNhd = PageLayout::nhd;
constexpr auto kHnd = PageLayout::hnd;
constexpr auto kRandom = PageOrder::random;
constexpr SuiteRow kSuite[] = {
    {kQuick, kLlama70b, kBf16, 16, 8192},
    {kQuick, kLlama70b, kFp8, 32, 8192},
    {kStandard, kLlama8b, kBf16, 1, 1024},
    {kStandard, kLlama8b, kBf16, 1, 32768},
    {kStandard, kLlama8b, kBf16, 32, 4096},
    {kStandard, kLlama8b, kFp16, 32, 4096},
    {kStandard, kLlama8b, kFp8, 32, 8192},
    {kStandard, kLlama8b, kInt8, 32, 8192},
    {kStandard, kLlama70b, kBf16, 64, 4096},
    {kStandard, kLlama70b, kInt8, 32, 8192},
    {kStandard, kLlama70b, kBf16, 16, 8192, 64},
    {kStandard, kLlama70b, kBf16, 16, 8192, 16, PageLayout::hnd},
    {kStandard, kLlama70b, kFp8, 32, 8192, 16, PageLayout::hnd},
    {kStandard, kLlama70b, kBf16, 16, 8192, 16, PageLayout::nhd, PageOrder::sequential},
    {kStandard, kLlama70bTp8, kFp8, 64, 32768, 32},
    {kStandard, kQwen235b, kBf16, 32, 8192},
    {kStandard, kGptOss, kBf16, 32, 8192},
    {kStandard, kGptOssWindow, kBf16, 256, 8192},
    {kStandard, kLlama2, kBf16, 8, 4096},
    {kStandard, kLlama8b, kBf16, 32, 4096, 16, kNhd, kRandom, 4},   // 16 query rows per KV head
    {kStandard, kLlama70b, kBf16, 16, 8192, 16, kNhd, kRandom, 4},  // 32 rows per KV head
    {kStandard, kLlama70b, kFp8, 32, 8192, 16, kNhd, kRandom, 4},
    {kFull, kStarcoder, kBf16, 64, 8192},  // three head tiles read the cache; two may find it in L2
    {kFull, kLlama8b, kBf16, 1, 8192},
    {kFull, kLlama8b, kFp8, 1, 32768},
    {kFull, kLlama8b, kBf16, 8, 32768},
    {kFull, kLlama8b, kBf16, 128, 1024},
    {kFull, kLlama8b, kBf16, 32, 4096, 32},
    {kFull, kLlama8b, kBf16, 32, 4096, 64, PageLayout::hnd},
    {kFull, kLlama8b, kInt8, 32, 8192, 64, PageLayout::hnd},
    {kFull, kLlama70b, kBf16, 1, 131072},
    {kFull, kLlama70b, kFp16, 16, 8192},
    {kFull, kLlama70b, kFp8, 128, 2048},
    {kFull, kLlama70b, kFp8, 32, 8192, 64},
    {kFull, kLlama70b, kInt8, 32, 8192, 64, PageLayout::hnd},
    {kFull, kLlama70b, kFp8, 32, 8192, 16, PageLayout::nhd, PageOrder::sequential},
    {kFull, kLlama70bTp8, kBf16, 64, 16384},
    {kFull, kQwen235b, kFp8, 64, 8192},
    {kFull, kGptOss, kFp8, 64, 8192},
    {kFull, kGptOss, kInt8, 64, 8192},
    {kFull, kLlama2, kFp8, 16, 4096},
    {kFull, kStarcoder, kFp8, 64, 16384},
    {kFull, kLlama8b, kBf16, 1, 32768, 16, kNhd, kRandom, 4},
    {kFull, kLlama8b, kFp8, 32, 8192, 16, kNhd, kRandom, 4},
    {kFull, kLlama8b, kInt8, 32, 8192, 16, kNhd, kRandom, 4},
    {kFull, kLlama70b, kBf16, 16, 8192, 16, kNhd, kRandom, 2},
    {kFull, kLlama70b, kBf16, 16, 8192, 16, kNhd, kRandom, 8},
    {kFull, kLlama70b, kBf16, 16, 8192, 64, kHnd, kRandom, 4},
    {kFull, kLlama70b, kFp16, 16, 8192, 16, kNhd, kRandom, 4},
    {kFull, kLlama70b, kFp8, 32, 8192, 16, kNhd, kRandom, 2},
    {kFull, kLlama70b, kInt8, 32, 8192, 16, kNhd, kRandom, 4},
    {kFull, kLlama70bTp8, kFp8, 64, 32768, 32, kNhd, kRandom, 4},
    {kFull, kQwen235b, kBf16, 32, 8192, 16, kNhd, kRandom, 4},  // 64 rows per KV head
    {kFull, kGptOss, kBf16, 32, 8192, 16, kNhd, kRandom, 4},
    {kFull, kGptOssWindow, kBf16, 256, 8192, 16, kNhd, kRandom, 4},
    {kFull, kLlama2, kBf16, 8, 4096, 16, kNhd, kRandom, 4},
    // These pools are larger than the reach of a GPU's TLBs.
    {kFull, kLlama70b, kBf16, 16, 8192, 16, kNhd, kRandom, 1, 40 * kGiga},
    {kFull, kLlama70b, kFp8, 32, 8192, 16, kNhd, kRandom, 1, 40 * kGiga},
};

AttentionOptions options_of(const Model& model, KvFormat format, std::int32_t page, PageLayout layout,
                            PageOrder order, std::vector<std::int32_t> lengths, std::int32_t q_len = 1) {
    return {.preset = std::string(model.name),
            .heads = model.heads,
            .window = model.window,
            .sinks = model.sinks,
            .format = format,
            .layout = layout,
            .order = order,
            .page = page,
            .lengths = std::move(lengths),
            .q_len = q_len};
}

/// Returns lengths just below, at and above the boundaries of a warp's 16 tokens, of a page, and of a block's
/// tile.
std::vector<std::int32_t> edges(std::int32_t page) {
    return {1, 15, 16, 17, page - 1, page, page + 1, 63, 64, 65, 130, 300};
}

/// Returns lengths for several query tokens, so that the visible tokens of the last and of the first query
/// token end at or next to these boundaries.
std::vector<std::int32_t> edges(std::int32_t page, std::int32_t q_len) {
    std::vector<std::int32_t> lengths = {q_len};
    for (const std::int32_t length : {16, page, 64}) {
        for (const std::int32_t end : {length - 1, length, length + 1, length + q_len}) {
            if (end > q_len) lengths.push_back(end);
        }
    }
    lengths.push_back(300);
    return lengths;
}

/// Small rows of several query tokens. Their query rows fill one, two, four or three times four tiles of 16,
/// and some do not fill their last tile. Their windows are longer or shorter than the number of query tokens.
struct SmallTokens {
    Model model;
    std::int32_t q_len;
    KvFormat format;
};
constexpr Model kGroup4{"group4", {8, 2, 128}};
constexpr Model kGroup8{"group8", {16, 2, 128}};
constexpr Model kGroup16{"group16", {16, 1, 64}};
constexpr Model kSmallSinks{"sinks", {16, 2, 64}, 0, true};
constexpr Model kSmallWindow{"window", {16, 2, 64}, 100, true};
constexpr Model kNarrowWindow{"narrow", {8, 2, 64}, 3};
constexpr SmallTokens kSmallTokens[] = {
    {kGroup4, 4, kBf16},
    {kGroup4, 4, kFp16},
    {kGroup4, 4, kFp8},
    {kGroup4, 4, kInt8},
    {kGroup8, 4, kBf16},
    {kGroup8, 4, kFp16},
    {kGroup8, 4, kFp8},
    {kGroup8, 4, kInt8},
    {kGroup16, 4, kBf16},
    {kGroup16, 4, kInt8},
    {kSmallSinks, 4, kFp16},
    {kSmallSinks, 2, kFp8},
    {kSmallWindow, 4, kBf16},
    {kSmallWindow, 4, kFp8},
    {kNarrowWindow, 5, kFp16},
    {kNarrowWindow, 5, kInt8},
    {{"group48", {48, 1, 64}}, 4, kFp16},
    {{"group5", {10, 2, 64}}, 3, kFp8},
    {{"group6", {12, 2, 128}}, 7, kBf16},
};

/// Returns small rows that cover each kind of head with each format, in all layouts and page sizes.
std::vector<AttentionOptions> small_checks() {
    constexpr Model kHeads[] = {{"group4", {8, 2, 128}},         {"group1", {2, 2, 64}},
                                {"group16", {16, 1, 128}},       {"group48", {48, 1, 64}},
                                {"sinks", {16, 2, 64}, 0, true}, {"window", {16, 2, 64}, 100, true}};
    std::vector<AttentionOptions> checks;
    std::size_t turn = 0;
    for (const Model& model : kHeads) {
        for (const KvFormat format : {kBf16, kFp16, kFp8, kInt8}) {
            const std::int32_t page = 16 << turn % 3;
            const PageLayout layout = turn % 2 == 0 ? PageLayout::nhd : PageLayout::hnd;
            checks.push_back(options_of(model, format, page, layout, PageOrder::random, edges(page)));
            ++turn;
        }
    }
    for (const SmallTokens& tokens : kSmallTokens) {
        const std::int32_t page = 16 << turn % 3;
        const PageLayout layout = turn % 2 == 0 ? PageLayout::nhd : PageLayout::hnd;
        checks.push_back(options_of(tokens.model, tokens.format, page, layout, PageOrder::random,
                                    edges(page, tokens.q_len), tokens.q_len));
        ++turn;
    }
    checks.push_back(options_of(kGroup4, kBf16, 16, kNhd, kRandom, {1, 40, 300}));
    checks.back().least_pool_bytes = 4 * kMega;
    return checks;
}

/// Returns a size such as "40G" or "4M", in powers of 1000.
std::string size_name(std::uint64_t bytes) {
    return bytes % kGiga == 0 ? fmt::format("{}G", bytes / kGiga) : fmt::format("{}M", bytes / kMega);
}

}  // namespace

std::uint64_t AttentionOptions::pool_pages(std::size_t copies) const {
    return std::max(pages_for(lengths, static_cast<std::uint32_t>(page), seen_window()) * copies,
                    least_pool_bytes / pool().page_bytes());
}

std::vector<PageTable> page_tables(const AttentionOptions& options, std::size_t copies, std::uint64_t seed) {
    return page_tables(options.lengths, static_cast<std::uint32_t>(options.page), copies, options.order, seed,
                       options.seen_window(), options.pool_pages(copies));
}

std::string name_of(const AttentionOptions& options) {
    std::string name =
        fmt::format("attention/preset:{}/kv:{}/batch:{}/ctx:{}/page:{}/layout:{}/order:{}", options.preset,
                    name_of(options.format), options.lengths.size(), context_name(options.lengths),
                    options.page, name_of(options.layout), name_of(options.order));
    if (options.window != 0) name += fmt::format("/window:{}", options.window);
    if (options.sinks) name += "/sinks:1";
    if (options.q_len != 1) name += fmt::format("/q_len:{}", options.q_len);
    if (options.least_pool_bytes != 0) name += fmt::format("/pool:{}", size_name(options.least_pool_bytes));
    return name;
}

Work attention_work(const AttentionOptions& options) {
    const auto heads = static_cast<double>(options.heads.kv_heads);
    const auto dim = static_cast<double>(options.heads.head_dim);
    const auto tokens = static_cast<double>(tokens_seen(options));
    const double scale_bytes = options.pool().page_scales() != 0 ? sizeof(float) : 0;
    double table_entries = 0;
    for (const std::int32_t length : options.lengths) {
        const std::int32_t first = window_begin(length, options.seen_window()) / options.page;
        table_entries += (length + options.page - 1) / options.page - first;
    }
    const auto outputs = static_cast<double>(options.outputs());
    return {.read_bytes = tokens * heads * 2 * (dim * bytes_of(options.format) + scale_bytes) +
                          table_entries * sizeof(std::int32_t) + outputs * sizeof(std::uint16_t),
            .written_bytes = outputs * sizeof(float),
            .flops = 4 * static_cast<double>(pairs_seen(options)) *
                     static_cast<double>(options.heads.query_heads) * dim};
}

std::uint16_t query_code(KvFormat format, std::uint64_t seed, std::uint64_t place) {
    const KvFormat half = format == KvFormat::bf16 ? KvFormat::bf16 : KvFormat::fp16;
    return random_code(half, derived_seed(seed, "queries"), place);
}

float query_number(KvFormat format, std::uint64_t seed, std::uint64_t place) {
    const std::uint16_t code = query_code(format, seed, place);
    return format == KvFormat::bf16 ? float_of_bf16(code) : float_of_f16(code);
}

float sink_logit(std::uint64_t seed, std::uint64_t head) {
    return random_number(derived_seed(seed, "sinks"), head) * 2;
}

std::vector<double> attention_reference(std::span<const double> q, std::span<const double> keys,
                                        std::span<const double> values, double scale,
                                        std::optional<double> sink) {
    const std::size_t tokens = keys.size() / q.size();
    const std::size_t value_dim = values.size() / tokens;
    std::vector<double> weight(tokens);
    double maximum = sink.value_or(-HUGE_VAL);
    for (std::size_t t = 0; t < tokens; ++t) {
        double score = 0;
        for (std::size_t d = 0; d < q.size(); ++d) score += q[d] * keys[t * q.size() + d];
        weight[t] = score * scale;
        maximum = std::max(maximum, weight[t]);
    }
    double sum = sink ? std::exp(*sink - maximum) : 0;
    for (double& w : weight) sum += w = std::exp(w - maximum);
    std::vector<double> out(value_dim);
    for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t d = 0; d < value_dim; ++d) out[d] += weight[t] / sum * values[t * value_dim + d];
    }
    return out;
}

CachedHead cached_head(const AttentionOptions& options, const PageTable& table, std::size_t request,
                       std::size_t kv_head, std::uint64_t seed) {
    const PoolNumbers numbers(options.pool(), seed);
    const std::int32_t last = options.lengths[request];
    CachedHead cached;
    for (std::int32_t token = window_begin(last, options.seen_window()); token < last; ++token) {
        const auto page = table.pages[static_cast<std::size_t>(table.first[request] + token / options.page)];
        const auto slot = static_cast<std::uint32_t>(token % options.page);
        for (std::uint32_t d = 0; d < options.heads.head_dim; ++d) {
            cached.keys.push_back(numbers.key(page, static_cast<std::uint32_t>(kv_head), slot, d));
            cached.values.push_back(numbers.value(page, static_cast<std::uint32_t>(kv_head), slot, d));
        }
    }
    return cached;
}

std::vector<double> attention_reference(const AttentionOptions& options, const PageTable& table,
                                        std::size_t request, std::size_t kv_head, std::uint64_t seed) {
    const CachedHead cached = cached_head(options, table, request, kv_head, seed);
    const std::size_t dim = options.heads.head_dim;
    const double scale = 1 / std::sqrt(static_cast<double>(dim));
    const std::int32_t length = options.lengths[request];
    const std::int32_t first = window_begin(length, options.seen_window());
    std::vector<double> out;
    for (std::int32_t token = 0; token < options.q_len; ++token) {
        const std::int32_t end = seen_end(length, options.q_len, token);
        const std::int32_t begin = window_begin(end, options.window);
        const std::size_t at = static_cast<std::size_t>(begin - first) * dim;
        const std::size_t count = static_cast<std::size_t>(end - begin) * dim;
        for (std::size_t i = 0; i < options.heads.group(); ++i) {
            const std::size_t head = kv_head * options.heads.group() + i;
            const auto sink =
                options.sinks ? std::optional(static_cast<double>(sink_logit(seed, head))) : std::nullopt;
            const auto one =
                attention_reference(queries_of(options, place_of(options, request, token, head), seed),
                                    std::span(cached.keys).subspan(at, count),
                                    std::span(cached.values).subspan(at, count), scale, sink);
            out.insert(out.end(), one.begin(), one.end());
        }
    }
    return out;
}

double attention_error(const AttentionOptions& options, std::span<const float> out, const PageTable& table,
                       std::size_t request, std::size_t kv_head, std::uint64_t seed) {
    const auto reference = attention_reference(options, table, request, kv_head, seed);
    const std::size_t size = options.heads.group() * options.heads.head_dim;
    double worst = 0;
    for (std::int32_t token = 0; token < options.q_len; ++token) {
        const std::size_t at = place_of(options, request, token, kv_head * options.heads.group());
        const auto want = std::span(reference).subspan(static_cast<std::size_t>(token) * size, size);
        const double error = relative_l2(out.subspan(at, size), want);
        if (!(error <= worst)) worst = error;  // also keeps a NaN
    }
    return worst;
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_to_check(const AttentionOptions& options,
                                                                std::uint64_t seed) {
    const std::size_t heads = options.heads.kv_heads;
    const std::size_t count = options.lengths.size() * heads;
    const auto pair_of = [heads](std::size_t index) { return std::pair(index / heads, index % heads); };
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    if (tokens_seen(options) * heads * options.heads.head_dim <= kCheckedElements || count <= kSampledPairs) {
        for (std::size_t i = 0; i < count; ++i) pairs.push_back(pair_of(i));
        return pairs;
    }
    Random random(derived_seed(seed, "checked pairs"));
    pairs = {pair_of(0), pair_of(count - 1)};
    while (pairs.size() < kSampledPairs) pairs.push_back(pair_of(random.below(count)));
    return pairs;
}

AttentionCall attention_call(const AttentionOptions& options, std::int32_t stages) {
    AttentionCall call;
    call.strides = options.pool().strides();
    call.kv_heads = static_cast<std::int32_t>(options.heads.kv_heads);
    call.query_heads = static_cast<std::int32_t>(options.heads.query_heads);
    call.tiles = options.tiles_per_kv_head();
    call.page_shift = std::countr_zero(static_cast<std::uint32_t>(options.page));
    call.stages = stages;
    call.score_scale = kLog2E / std::sqrt(static_cast<float>(options.heads.head_dim));
    call.q_len = options.q_len;
    call.row_tiles = options.row_tiles();
    call.window = options.window;
    return call;
}

SplitOptions split_options(const AttentionOptions& options, std::int32_t blocks) {
    return {.heads = options.head_tiles(), .window = options.seen_window(), .blocks = blocks};
}

RowSet row_set(const GpuSettings& settings) {
    if (settings.verify_only) return RowSet::checks;
    if (settings.quick) return RowSet::quick;
    return settings.full ? RowSet::full : RowSet::standard;
}

std::vector<AttentionOptions> attention_suite(RowSet set) {
    if (set == RowSet::checks) return small_checks();
    std::vector<AttentionOptions> suite;
    for (const SuiteRow& row : kSuite) {
        if (row.from > set) continue;
        suite.push_back(options_of(row.model, row.format, row.page, row.layout, row.order,
                                   std::vector<std::int32_t>(row.batch, row.context), row.q_len));
        suite.back().least_pool_bytes = row.least_pool_bytes;
    }
    return suite;
}

}  // namespace paretoken::microbench::gpu
