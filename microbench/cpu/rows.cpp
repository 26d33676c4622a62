#include "microbench/cpu/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "core/statistics.h"
#include "microbench/cpu/attention/attention_kernel.h"
#include "microbench/cpu/ceilings.h"
#include "microbench/cpu/machine.h"
#include "microbench/cpu/memory.h"
#include "microbench/cpu/read.h"
#include "microbench/cpu/sampling.h"
#include "microbench/cpu/weights/weights_kernel.h"

namespace paretoken::microbench {
namespace {

/// Rows of `weights` for a type, and the smallest extent that has them.
struct WeightRow {
    Layout layout;
    std::size_t batch;
    Extent least;
};
constexpr WeightRow kWeightRows[] = {
    {Layout::packed, 1, Extent::quick},  {Layout::packed, 4, Extent::normal},
    {Layout::packed, 8, Extent::normal}, {Layout::packed, 16, Extent::normal},
    {Layout::row, 1, Extent::normal},    {Layout::row, 4, Extent::full},
    {Layout::row, 8, Extent::full},
};
constexpr WeightType kQuickAtFour[] = {WeightType::bf16, WeightType::q8_0, WeightType::q4_0};

struct AttentionRow {
    std::size_t context;
    std::size_t block;
    bool random_order;
    Extent least;
};
constexpr AttentionRow kAttentionRows[] = {
    {4096, 64, false, Extent::quick}, {4096, 32, false, Extent::normal}, {4096, 64, true, Extent::normal},
    {512, 32, false, Extent::full},   {4096, 16, false, Extent::full},   {4096, 128, false, Extent::full},
    {512, 64, false, Extent::full},   {16384, 64, false, Extent::full},  {4096, 16, true, Extent::full},
    {4096, 32, true, Extent::full},   {4096, 128, true, Extent::full},
};

// The KiB that one operation reads, over all threads. They give the fixed cost of an operation.
constexpr std::uint64_t kOperationKib[] = {128, 512, 2048, 8192, 32768};

struct RandomPages {
    std::size_t kib;
    Extent least;
};
constexpr RandomPages kRandomPages[] = {
    {4, Extent::normal}, {8, Extent::full}, {16, Extent::normal}, {32, Extent::quick}, {64, Extent::full}};

/// A set that the last-level cache keeps partly. Such sets bound a model that is not much larger than the
/// cache.
struct CachedSet {
    double share;  ///< of the last-level cache
    Extent least;
};
constexpr CachedSet kCachedSets[] = {{1, Extent::quick},  {1.5, Extent::normal}, {2, Extent::quick},
                                     {3, Extent::normal}, {4, Extent::normal},   {8, Extent::normal}};

constexpr FlopsKind kFlopsKinds[] = {FlopsKind::f32_fma, FlopsKind::bf16_dot, FlopsKind::int8_dot};

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint64_t>::max();

constexpr double kCachedShare = 0.1;
constexpr double kTrialShare = 0.2;  // share of a row's time for finding the fastest read of its memory

/// The number of threads, and the size of pages in random order (0: in order).
using Access = std::pair<std::size_t, std::size_t>;

/// Finds the fastest read for an access. Every row adds its trial, because a single trial may be disturbed.
class ReadTrials {
  public:
    void add(const Access& access, const std::vector<std::vector<PairedWindow>>& trial) {
        auto& all = by_access_[access];
        all.resize(trial.size());
        for (std::size_t v = 0; v < trial.size(); ++v)
            all[v].insert(all[v].end(), trial[v].begin(), trial[v].end());
    }
    std::size_t best(const Access& access) const { return fastest(by_access_.at(access)); }

  private:
    std::map<Access, std::vector<std::vector<PairedWindow>>> by_access_;  // [variant][window]
};

struct Session {
    CpuSettings settings;
    ReadTrials trials;
};
using SharedSession = std::shared_ptr<Session>;

/// Returns the numbers of threads that rows measure with: 1 and all CPUs; a quick suite uses all CPUs only.
std::vector<std::size_t> thread_counts(const CpuSettings& settings) {
    if (settings.cpus.size() == 1 || settings.extent == Extent::quick) return {settings.cpus.size()};
    return {1, settings.cpus.size()};
}

std::string backend(std::size_t threads) {
    return fmt::format("backend:cpu/threads:{}", threads);
}

std::vector<int> first_cpus(const CpuSettings& settings, std::size_t threads) {
    return {settings.cpus.begin(), settings.cpus.begin() + static_cast<std::ptrdiff_t>(threads)};
}

/// Measures again if unsteady, and returns the steadier of both.
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
    const auto first = std::ranges::find_if(wrong, [](const auto& text) { return text.has_value(); });
    if (first == wrong.end()) return std::nullopt;
    return "verification failed: " + **first;
}

/// Tries each variant of the kernel beside the ceiling and chooses the fastest.
void choose_fastest(PinnedThreads& threads, Kernel& kernel, Read ceiling, const Span& span) {
    std::size_t best = 0;
    double best_ratio = 0;
    for (std::size_t variant = 0; variant < kernel.variant_count() && kernel.variant_count() > 1; ++variant) {
        kernel.choose(variant);
        const double ratio =
            measurement_of(sample_pairs(threads, kernel, ceiling, span), 1).of_ceiling.value_or(0);
        if (ratio > best_ratio) best = variant, best_ratio = ratio;
    }
    kernel.choose(best);
}

/// Returns the flops per second while caches hold the operand: the fastest decile, because it is a limit.
/// Returns nothing if the kernel has no such part.
std::optional<double> cached_speed(PinnedThreads& threads, Kernel& kernel, double seconds) {
    constexpr int kRepeats = 8;  // some 100 µs between barriers
    std::vector<double> flops(threads.size());
    const Action work = [&](std::size_t thread, std::size_t) {
        for (int i = 0; i < kRepeats; ++i) flops[thread] = kernel.run_cached(thread);
    };
    std::vector<double> took = timed_rounds(threads, {&work, 1}, {.seconds = seconds}).seconds[0];
    const double all = std::accumulate(flops.begin(), flops.end(), 0.0) * kRepeats;
    if (all <= 0) return std::nullopt;
    std::ranges::sort(took);
    return all / percentile(took, .1);
}

RowOutcome streamed(Session& session, std::size_t thread_count, Kernel& kernel) {
    const CpuSettings& settings = session.settings;
    PinnedThreads threads(first_cpus(settings, thread_count));
    if (auto wrong = prepared_and_checked(threads, kernel)) return {.error = std::move(wrong)};
    const auto reads = read_variants(settings.isa);
    const Span trial_span{.seconds = settings.seconds_per_row * kTrialShare};
    const Access access{thread_count, kernel.window(0, 0).page_size};
    session.trials.add(access, sample_reads(threads, kernel, reads, trial_span));
    const ReadVariant& ceiling = reads[session.trials.best(access)];
    choose_fastest(threads, kernel, ceiling.read, trial_span);
    const Measurement measurement = steadiest(
        [&] { return sample_pairs(threads, kernel, ceiling.read, {.seconds = settings.seconds_per_row}); });
    RowOutcome outcome{.measurement = measurement,
                       .judgement = judgement_of(measurement, streaming(settings))};
    if (const auto cached = cached_speed(threads, kernel, settings.seconds_per_row * kCachedShare))
        outcome.counters.emplace_back("cached_flops_per_second", *cached);
    outcome.counters.emplace_back("prefetch_bytes", static_cast<double>(kernel.prefetch_bytes()));
    outcome.counters.emplace_back("ceiling_streams", static_cast<double>(ceiling.streams));
    if (const auto share = huge_page_share()) outcome.counters.emplace_back("huge_page_share", *share);
    return outcome;
}

RowOutcome read_ceiling(Session& session, const ReadOptions& options, const Circumstances& circumstances) {
    const CpuSettings& settings = session.settings;
    PinnedThreads threads(first_cpus(settings, options.threads));
    ReadMemory memory(options);
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    const Measurement measurement = steadiest([&] {
        const Span span{.seconds = settings.seconds_per_row};
        auto variants = sample_reads(threads, memory, read_variants(settings.isa), span);
        if (options.window_bytes == 0) session.trials.add({options.threads, options.page_bytes}, variants);
        return std::move(variants[fastest(variants)]);
    });
    return {.measurement = measurement, .judgement = judgement_of(measurement, circumstances)};
}

/// Measures a limit. For limits, also of flops, the fastest decile counts: noise only slows, and other
/// programs' cache lines are noise.
RowOutcome cached_read_ceiling(const CpuSettings& settings, std::size_t thread_count,
                               std::uint64_t set_bytes) {
    PinnedThreads threads(first_cpus(settings, thread_count));
    ReadMemory memory({.total_bytes = set_bytes, .threads = thread_count, .seed = settings.seed});
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    Measurement measurement = steadiest([&] {
        const Span span{.seconds = settings.seconds_per_row,
                        .least_rounds = settings.extent == Extent::quick ? 4U : 16U};
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

bool belongs(const CpuSettings& settings, Extent least) {
    return settings.extent >= least;
}

ReadOptions read_options(const CpuSettings& settings, std::size_t threads) {
    return {.total_bytes = settings.working_set_bytes, .threads = threads, .seed = settings.seed};
}

/// Adds rows by the bytes of one operation. The fastest decile counts, because the fit over them is a limit.
void add_reads_by_size(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const std::uint64_t kib : kOperationKib) {
        ReadOptions options = read_options(session->settings, n);
        options.window_bytes = kib << 10;
        Circumstances circumstances = streaming(session->settings);
        circumstances.must_be_steady = false;
        rows.push_back({fmt::format("ceiling/read/kib:{}/{}", kib, backend(n)),
                        [=] { return read_ceiling(*session, options, circumstances); }});
    }
}

void add_random_reads(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const RandomPages& pages : kRandomPages) {
        if (!belongs(session->settings, pages.least)) continue;
        ReadOptions options = read_options(session->settings, n);
        options.page_bytes = pages.kib << 10;
        rows.push_back({fmt::format("ceiling/random_read/kib:{}/{}", pages.kib, backend(n)),
                        [=] { return read_ceiling(*session, options, streaming(session->settings)); }});
    }
}

void add_ceilings(const SharedSession& session, std::vector<Row>& rows) {
    const CpuSettings& settings = session->settings;
    const auto counts = thread_counts(settings);
    for (const std::size_t n : counts) {
        rows.push_back({fmt::format("ceiling/read/{}", backend(n)), [=] {
                            return read_ceiling(*session, read_options(session->settings, n),
                                                streaming(session->settings));
                        }});
    }
    for (const std::size_t n : counts) {
        add_reads_by_size(session, n, rows);
        add_random_reads(session, n, rows);
    }
    for (const CachedSet& set : kCachedSets) {
        const auto mib =
            static_cast<std::uint64_t>(set.share * static_cast<double>(settings.llc_bytes >> 20));
        if (mib == 0 || !belongs(settings, set.least)) continue;
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

/// Returns the operations of a layer that a type can hold, or "" for all of them.
std::string ops_held(const ModelShape& model, WeightType type) {
    std::string held;
    bool all = true;
    for (const MatrixShape& matrix : model.layer) {
        if (matrix.k % block_values(type) == 0) {
            held += (held.empty() ? "" : ", ") + matrix.op;
        } else {
            all = false;
        }
    }
    return all ? "" : held;
}

RowOutcome stream_weights(Session& session, const WeightsOptions& options, std::size_t n) {
    const auto kernel = weights_kernel(options, stream_options(session.settings, n));
    RowOutcome outcome = streamed(session, n, *kernel);
    if (const std::string held = ops_held(options.model, options.type); !held.empty())
        outcome.judgement.notes.push_back(
            fmt::format("only {}: the others' k is no multiple of {}", held, block_values(options.type)));
    return outcome;
}

/// Returns whether a type's row belongs to the suite and has its own kernel.
bool weights_belong(const CpuSettings& settings, WeightType type, const WeightRow& row) {
    const bool at_four = row.batch == 4 && row.layout == Layout::packed &&
                         std::ranges::find(kQuickAtFour, type) != std::end(kQuickAtFour);
    if (!belongs(settings, at_four ? Extent::quick : row.least)) return false;
    if (streamed_matrices(settings.model, type, kMostBytes).empty()) return false;
    const Isa found = gemvs_for(type, row.layout, settings.isa, row.batch).front().isa;
    return found != Isa::scalar || settings.isa == Isa::scalar;
}

void add_weights(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const WeightRow& row : kWeightRows) {
        for (const WeightType type : kWeightTypes) {
            if (!weights_belong(session->settings, type, row)) continue;
            rows.push_back({fmt::format("weights/w:{}/layout:{}/batch:{}/{}", name_of(type),
                                        name_of(row.layout), row.batch, backend(n)),
                            [=] {
                                return stream_weights(
                                    *session, {type, row.layout, row.batch, session->settings.model}, n);
                            }});
        }
    }
}

void add_attention(const SharedSession& session, std::size_t n, std::vector<Row>& rows) {
    for (const HeadShape& heads : session->settings.heads) {
        if (!attention_takes(heads)) continue;
        for (const AttentionRow& row : kAttentionRows) {
            if (!belongs(session->settings, row.least)) continue;
            for (const KvType type : kKvTypes) {
                const AttentionOptions options{type, heads, row.context, row.block, row.random_order};
                const auto run = [=] {
                    const auto kernel = attention_kernel(options, stream_options(session->settings, n));
                    return streamed(*session, n, *kernel);
                };
                rows.push_back({fmt::format("attention/kv:{}/heads:{}/ctx:{}/block:{}/order:{}/{}",
                                            name_of(type), name_of(heads), row.context, row.block,
                                            row.random_order ? "random" : "seq", backend(n)),
                                run});
            }
        }
    }
}

}  // namespace

std::string_view name_of(Extent extent) {
    switch (extent) {
        case Extent::quick:
            return "quick";
        case Extent::normal:
            return "default";
        case Extent::full:
            return "full";
    }
    return "";
}

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
    const auto counts = thread_counts(settings);
    for (const std::size_t n : counts) add_weights(session, n, rows);
    for (const std::size_t n : counts) add_attention(session, n, rows);
    return rows;
}

std::vector<std::string> left_out(const CpuSettings& settings) {
    std::vector<std::string> reasons;
    for (const WeightType type : kWeightTypes) {
        if (streamed_matrices(settings.model, type, kMostBytes).empty())
            reasons.push_back(fmt::format("w:{}: no matrix of {} has rows of whole blocks of {}",
                                          name_of(type), settings.model.name, block_values(type)));
    }
    for (const HeadShape& heads : settings.heads) {
        if (!attention_takes(heads))
            reasons.push_back(
                fmt::format("heads:{}: the CPU's attention takes up to {} query heads per KV head, of 16 to "
                            "{} dimensions",
                            name_of(heads), kMaxGroup, kMaxHeadDim));
    }
    if (settings.model.mla)
        reasons.push_back(
            fmt::format("attention of {}: latent attention has no CPU kernel", settings.model.name));
    return reasons;
}

}  // namespace paretoken::microbench
