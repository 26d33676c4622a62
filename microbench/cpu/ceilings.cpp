#include "microbench/cpu/ceilings.h"

#include <algorithm>
#include <cstring>

#include "core/random.h"
#include "core/units.h"
#include "microbench/cpu/pages.h"
#include "microbench/cpu/ring.h"
#include "microbench/cpu/sampling.h"

namespace paretoken::microbench {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kGrain = 1 << 10;   // unit of a Read's size
constexpr double kRoundSeconds = 500e-6;  // computing time between barriers

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(size);
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
        const std::uint64_t word = random();
        std::memcpy(bytes.data() + at, &word, sizeof word);
    }
    return bytes;
}

std::uint64_t repeats_for(const FlopsVariant& variant, double wanted_s) {
    constexpr std::uint64_t kTrial = 20'000;
    variant.burn(kTrial);  // wakes the vector units
    const TimePoint begin = Clock::now();
    variant.burn(kTrial);
    const double took = std::max(seconds(Clock::now() - begin), 1e-6);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kTrial * wanted_s / took));
}

}  // namespace

struct ReadMemory::Parts {
    std::vector<std::byte> operand;
    std::vector<Piece> pieces;
    std::vector<Ring> rings;
    std::vector<PageOrder> orders;  // empty: in order
    std::size_t page_bytes = 0;
    std::uint64_t seed = 0;
};

ReadMemory::ReadMemory(const ReadOptions& options) : parts_(std::make_unique<Parts>()) {
    std::size_t window = kWindowBytes;
    std::size_t piece = kPieceBytes;
    if (options.window_bytes != 0) {
        const std::size_t grains = std::max<std::size_t>(options.window_bytes / options.threads / kGrain, 1);
        window = grains * kGrain;
        piece = std::min(window, kPieceBytes);
    }
    parts_->operand = random_bytes(piece, derived_seed(options.seed, "read"));
    parts_->pieces = {{.size = piece, .bytes = piece, .flops = 0}};
    for (std::size_t i = 0; i < options.threads; ++i)
        parts_->rings.emplace_back(parts_->pieces, options.total_bytes / options.threads, window);
    parts_->orders.resize(options.threads);
    parts_->page_bytes = options.page_bytes;
    parts_->seed = options.seed;
}

ReadMemory::~ReadMemory() = default;

void ReadMemory::prepare(std::size_t thread) {
    Ring& ring = parts_->rings[thread];
    ring.fill(parts_->operand);
    if (parts_->page_bytes != 0)
        parts_->orders[thread] =
            PageOrder(ring, parts_->page_bytes, derived_seed(parts_->seed, "pages", thread));
}
std::size_t ReadMemory::window_count() const {
    return parts_->rings.front().window_count();
}
Window ReadMemory::window(std::size_t thread, std::size_t index) const {
    const Ring& ring = parts_->rings[thread];
    const Window window = ring.window(index);
    const PageOrder& order = parts_->orders[thread];
    return order.empty() ? window : order.permuted(window, ring.first_copy());
}

std::vector<PairedWindow> measured_flops(PinnedThreads& threads, FlopsKind kind, double wanted_seconds) {
    std::vector<const FlopsVariant*> variants;
    for (const FlopsVariant& variant : flops_variants()) {
        if (variant.kind == kind && variant.supported()) variants.push_back(&variant);
    }
    std::vector<Action> actions;
    std::vector<double> flops;
    for (const FlopsVariant* variant : variants) {
        const std::uint64_t repeats = repeats_for(*variant, kRoundSeconds);
        flops.push_back(static_cast<double>(repeats) * variant->flops_per_repeat *
                        static_cast<double>(threads.size()));
        actions.emplace_back([burn = variant->burn, repeats](std::size_t, std::size_t) {
            const std::uint64_t result = burn(repeats);
            asm volatile("" : : "r"(result));
        });
    }
    const Rounds rounds = timed_rounds(threads, actions, {.seconds = wanted_seconds});
    std::size_t best = 0;
    std::vector<double> fastest_round;
    for (std::size_t v = 0; v < variants.size(); ++v) {
        fastest_round.push_back(flops[v] / *std::ranges::min_element(rounds.seconds[v]));
        if (fastest_round[v] > fastest_round[best]) best = v;
    }
    std::vector<PairedWindow> windows;
    for (const double took : rounds.seconds[best]) {
        windows.push_back(
            {.kernel_s = took, .ceiling_s = 0, .kernel_bytes = 0, .ceiling_bytes = 0, .flops = flops[best]});
    }
    return windows;
}

}  // namespace paretoken::microbench
