#include "microbench/cpu/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "microbench/cpu/attention_kernel.h"
#include "microbench/cpu/ceilings.h"
#include "microbench/cpu/machine.h"
#include "microbench/cpu/read.h"
#include "microbench/cpu/sampling.h"
#include "microbench/cpu/weights_kernel.h"

namespace paretoken::microbench {
namespace {

enum class In { quick, full };  // quick rows run in both

struct WeightRow {
    WeightType type;
    Layout layout;
    std::size_t batch;
    In in;
};
constexpr WeightRow kWeightRows[] = {
    {WeightType::bf16, Layout::packed, 1, In::quick}, {WeightType::q8_0, Layout::packed, 1, In::quick},
    {WeightType::q4_0, Layout::packed, 1, In::quick}, {WeightType::q4_1, Layout::packed, 1, In::quick},
    {WeightType::bf16, Layout::packed, 4, In::quick}, {WeightType::q8_0, Layout::packed, 4, In::quick},
    {WeightType::q4_0, Layout::packed, 4, In::quick}, {WeightType::q4_1, Layout::packed, 4, In::quick},
    {WeightType::bf16, Layout::packed, 8, In::full},  {WeightType::q8_0, Layout::packed, 8, In::full},
    {WeightType::q4_0, Layout::packed, 8, In::full},  {WeightType::q4_1, Layout::packed, 8, In::full},
    {WeightType::bf16, Layout::row, 1, In::quick},    {WeightType::q8_0, Layout::row, 1, In::quick},
    {WeightType::q4_0, Layout::row, 1, In::quick},    {WeightType::q4_1, Layout::row, 1, In::quick},
    {WeightType::bf16, Layout::row, 4, In::full},     {WeightType::q8_0, Layout::row, 4, In::full},
    {WeightType::q4_0, Layout::row, 4, In::full},     {WeightType::q4_1, Layout::row, 4, In::full},
};

struct AttentionRow {
    KvType type;
    HeadShape heads;
    std::size_t context;
    std::size_t block;
    In in;
};
constexpr HeadShape kSmollm2{9, 3, 64};
constexpr HeadShape kLlama8b{32, 8, 128};
constexpr AttentionRow kAttentionRows[] = {
    {KvType::bf16, kLlama8b, 4096, 64, In::quick}, {KvType::f16, kLlama8b, 4096, 64, In::quick},
    {KvType::bf16, kSmollm2, 4096, 64, In::quick}, {KvType::f16, kSmollm2, 4096, 64, In::quick},
    {KvType::bf16, kLlama8b, 4096, 32, In::full},  {KvType::f16, kLlama8b, 4096, 32, In::full},
    {KvType::bf16, kSmollm2, 512, 32, In::full},   {KvType::f16, kSmollm2, 512, 32, In::full},
};

// Sets of which the last-level cache keeps a part: what bounds a model that is not much larger than it.
constexpr double kCachedSets[] = {1, 1.5, 2, 3, 4, 8};  // × last-level cache

constexpr FlopsKind kFlopsKinds[] = {FlopsKind::f32_fma, FlopsKind::bf16_dot, FlopsKind::int8_dot};

constexpr double kTrialShare = 0.2;  // of a row's time, for finding the fastest read of its memory

/// Which read is the fastest with so many threads: every row adds its trial, as one alone may be disturbed.
class ReadTrials {
  public:
    void add(std::size_t threads, const std::vector<std::vector<PairedWindow>>& trial) {
        auto& all = by_threads_[threads];
        all.resize(trial.size());
        for (std::size_t v = 0; v < trial.size(); ++v)
            all[v].insert(all[v].end(), trial[v].begin(), trial[v].end());
    }
    std::size_t best(std::size_t threads) const { return fastest(by_threads_.at(threads)); }

  private:
    std::map<std::size_t, std::vector<std::vector<PairedWindow>>> by_threads_;  // [variant][window]
};

struct Session {
    CpuSettings settings;
    ReadTrials trials;
};
using SharedSession = std::shared_ptr<Session>;

/// 1 and all.
std::vector<std::size_t> thread_counts(const CpuSettings& settings) {
    if (settings.cpus.size() == 1) return {1};
    return {1, settings.cpus.size()};
}

std::string backend(std::size_t threads) {
    return fmt::format("backend:cpu/threads:{}", threads);
}

std::vector<int> first_cpus(const CpuSettings& settings, std::size_t threads) {
    return {settings.cpus.begin(), settings.cpus.begin() + static_cast<std::ptrdiff_t>(threads)};
}

/// Once more when unsteady; the steadier of the two counts.
template <class Measure>
Measurement steadiest(Measure measure) {
    const auto measurement = [&] {
        const std::vector<PairedWindow> windows = measure();
        return measurement_of(windows, std::max<std::size_t>(1, windows.size() / 16));
    };
    const Measurement first = measurement();
    if (first.cv <= kMaxVariation) return first;
    const Measurement second = measurement();
    return second.cv < first.cv ? second : first;
}

Circumstances streaming(const CpuSettings& settings) {
    return {.working_set_bytes = settings.working_set_bytes, .llc_bytes = settings.llc_bytes};
}

std::optional<std::string> prepared_and_checked(PinnedThreads& threads, Kernel& kernel) {
    std::vector<std::optional<std::string>> wrong(threads.size());
    threads.run([&](std::size_t thread) {
        kernel.prepare(thread);
        wrong[thread] = kernel.check(thread);
    });
    const auto first =
        std::find_if(wrong.begin(), wrong.end(), [](const auto& text) { return text.has_value(); });
    if (first == wrong.end()) return std::nullopt;
    return "verification failed: " + **first;
}

RowOutcome streamed(Session& session, std::size_t thread_count, Kernel& kernel) {
    const CpuSettings& settings = session.settings;
    PinnedThreads threads(first_cpus(settings, thread_count));
    if (auto wrong = prepared_and_checked(threads, kernel)) return {.error = std::move(wrong)};
    const auto reads = read_variants(settings.isa);
    const Span trial_span{.seconds = settings.seconds_per_row * kTrialShare};
    session.trials.add(thread_count, sample_reads(threads, kernel, reads, trial_span));
    const Read ceiling = reads[session.trials.best(thread_count)].read;
    const Measurement measurement = steadiest(
        [&] { return sample_pairs(threads, kernel, ceiling, {.seconds = settings.seconds_per_row}); });
    return {.measurement = measurement, .judgement = judgement_of(measurement, streaming(settings))};
}

RowOutcome read_ceiling(Session& session, std::size_t thread_count) {
    const CpuSettings& settings = session.settings;
    PinnedThreads threads(first_cpus(settings, thread_count));
    ReadMemory memory(settings.working_set_bytes, thread_count, settings.seed);
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    const Measurement measurement = steadiest([&] {
        const Span span{.seconds = settings.seconds_per_row};
        auto variants = sample_reads(threads, memory, read_variants(settings.isa), span);
        session.trials.add(thread_count, variants);
        return std::move(variants[fastest(variants)]);
    });
    return {.measurement = measurement, .judgement = judgement_of(measurement, streaming(settings))};
}

/// Limits, so the fastest decile counts, here and of flops: noise only ever slows, and other programs' cache
/// lines are noise.
RowOutcome cached_read_ceiling(const CpuSettings& settings, std::size_t thread_count,
                               std::uint64_t set_bytes) {
    PinnedThreads threads(first_cpus(settings, thread_count));
    ReadMemory memory(set_bytes, thread_count, settings.seed);
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    Measurement measurement = steadiest([&] {
        const Span span{.seconds = settings.seconds_per_row, .least_rounds = 16};
        auto variants = sample_walks(threads, memory, read_variants(settings.isa), span);
        return std::move(variants[fastest(variants)]);
    });
    measurement.bytes_per_second = measurement.bytes_per_second_best;
    return {.measurement = measurement,
            .judgement = judgement_of(measurement, {.must_exceed_llc = false, .must_be_steady = false})};
}

RowOutcome flops_ceiling(const CpuSettings& settings, std::size_t thread_count, FlopsKind kind) {
    PinnedThreads threads(first_cpus(settings, thread_count));
    Measurement measurement =
        steadiest([&] { return measured_flops(threads, kind, settings.seconds_per_row / 2); });
    measurement.flops_per_second = measurement.flops_per_second_best;
    const Circumstances circumstances{
        .must_exceed_llc = false, .must_be_steady = false, .not_a_bound = faster_hardware_unused(kind)};
    return {.measurement = measurement, .judgement = judgement_of(measurement, circumstances)};
}

StreamOptions stream_options(const CpuSettings& settings, std::size_t threads) {
    return {.isa = settings.isa,
            .threads = threads,
            .working_set_bytes = settings.working_set_bytes,
            .seed = settings.seed,
            .plant_fault = settings.plant_fault};
}

void add_ceilings(const SharedSession& session, std::vector<Row>& rows) {
    const CpuSettings& settings = session->settings;
    const auto counts = thread_counts(settings);
    for (const std::size_t n : counts) {
        rows.push_back(
            {fmt::format("ceiling/read/{}", backend(n)), [=] { return read_ceiling(*session, n); }});
    }
    for (const double share : kCachedSets) {
        const auto mib = static_cast<std::uint64_t>(share * static_cast<double>(settings.llc_bytes >> 20));
        if (mib == 0) continue;
        rows.push_back(
            {fmt::format("ceiling/cached_read/mib:{}/{}", mib, backend(counts.back())),
             [=, n = counts.back()] { return cached_read_ceiling(session->settings, n, mib << 20); }});
    }
    for (const FlopsKind kind : kFlopsKinds) {
        for (const std::size_t n : counts) {
            rows.push_back({fmt::format("ceiling/flops/kind:{}/{}", name_of(kind), backend(n)),
                            [=] { return flops_ceiling(session->settings, n, kind); }});
        }
    }
}

void add_weights(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const WeightRow& row : kWeightRows) {
        if (session->settings.quick && row.in == In::full) continue;
        const auto run = [=] {
            const auto kernel = weights_kernel({row.type, row.layout, row.batch, session->settings.model},
                                               stream_options(session->settings, n));
            return streamed(*session, n, *kernel);
        };
        rows.push_back({fmt::format("weights/w:{}/layout:{}/batch:{}/{}", name_of(row.type),
                                    name_of(row.layout), row.batch, backend(n)),
                        run});
    }
}

void add_attention(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const AttentionRow& row : kAttentionRows) {
        if (session->settings.quick && row.in == In::full) continue;
        const auto run = [=] {
            const auto kernel = attention_kernel({row.type, row.heads, row.context, row.block},
                                                 stream_options(session->settings, n));
            return streamed(*session, n, *kernel);
        };
        rows.push_back({fmt::format("attention/kv:{}/heads:{}/ctx:{}/block:{}/{}", name_of(row.type),
                                    name_of(row.heads), row.context, row.block, backend(n)),
                        run});
    }
}

}  // namespace

std::uint64_t default_working_set(bool quick, std::uint64_t llc_bytes) {
    const std::uint64_t least = quick ? 512ULL << 20 : 1ULL << 30;
    const std::uint64_t wanted = std::max(least, 4 * llc_bytes);
    const auto available = available_memory_bytes();
    return available ? std::min(wanted, *available / 2) : wanted;
}

std::vector<Row> cpu_rows(const CpuSettings& settings) {
    const auto session = std::make_shared<Session>(Session{settings, {}});
    std::vector<Row> rows;
    add_ceilings(session, rows);
    auto counts = thread_counts(settings);
    if (settings.quick) counts = {counts.back()};
    for (const std::size_t n : counts) add_weights(session, n, rows);
    for (const std::size_t n : counts) add_attention(session, n, rows);
    return rows;
}

}  // namespace paretoken::microbench
