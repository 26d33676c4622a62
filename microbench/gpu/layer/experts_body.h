#pragma once
// The bodies of the kernels that a decode layer with routed experts runs around the experts' products.
// `route` chooses the experts of every token and lists the tokens of every expert, `gather` copies the rows
// of the tokens into the order of this list, and `mix` adds the experts' results. The lists are made on the
// device, so that no kernel waits for the host. A GPU runs the bodies through device/machine.cuh, and the
// tests run the same code on an emulation of the lanes.
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/host_device.h"
#include "microbench/gpu/layer/layer_body.h"
#include "microbench/gpu/weights/weights_body.h"

namespace paretoken::microbench::gpu {

/// The routing of the tokens of a step. The list of experts has an entry for each touched expert, and an
/// entry has columns for its tokens. A place is a row of the input and output of the experts' products. Its
/// index is entry · columns + column.
struct RoutingTables {
    float* weights = nullptr;            ///< [tokens, active]: factor of the result of each chosen expert
    std::int32_t* places = nullptr;      ///< [tokens, active]; kNoPlace if the list has no place left
    std::int32_t* tokens = nullptr;      ///< [entries, columns]: token of each place, or kNoToken
    std::int32_t* of_entries = nullptr;  ///< [2, entries]: ExpertList::of_entries of gate_up and of down
};
inline constexpr std::int32_t kNoPlace = -1;
inline constexpr std::int32_t kNoToken = -1;

// ---- route

/// Each token gets the `active` experts with the largest logits among the experts that its mask allows, the
/// largest first; if logits are equal, the expert with the lower number comes first. The weights are the
/// softmax of the chosen logits, multiplied by `scale`. A softmax over all experts, normalised over the
/// chosen ones, gives the same weights. The touched experts become entries in ascending order, and the tokens
/// of an expert become its columns in ascending order. The kernel is a single block.
struct RouteCall {
    const float* logits = nullptr;  ///< [tokens, experts]
    /// [tokens, mask words]: bit i % 32 of word i / 32 is set if the token may choose expert i
    const std::uint32_t* masks = nullptr;
    /// [2, experts]: index of the stored matrix of each expert, for gate_up and for down
    const std::int32_t* stored = nullptr;
    RoutingTables out = {};
    std::int32_t tokens = 0;
    std::int32_t experts = 0;  ///< at most kMostExperts
    std::int32_t active = 0;   ///< at most 32; every mask allows at least as many
    std::int32_t entries = 0;  ///< entries of the list
    std::int32_t columns = 0;  ///< columns of each entry
    float scale = 1;           ///< factor of the logits in the softmax
};

inline constexpr int kExpertsOfLane = 16;  ///< logits of a token that each lane of a warp holds
inline constexpr int kMostExperts = kExpertsOfLane * 32;
inline constexpr int kMostActive = 32;
inline constexpr int kRouteWarps = 32;  ///< warps of the block on a GPU
/// Returns the number of 32-bit words of the mask of a token.
PARETOKEN_HOST_DEVICE constexpr std::int32_t mask_words(std::int32_t experts) {
    return (experts + 31) / 32;
}
/// Returns how many numbers each of the two tables in the shared memory of the route kernel holds: one for
/// each pair of a token and a chosen expert, rounded up to 16 bytes. The compiled code reads the first table
/// 16 bytes at a time, and must not read what other threads write to the second one.
PARETOKEN_HOST_DEVICE constexpr std::int32_t route_table_size(std::int32_t pairs) {
    return (pairs + 3) / 4 * 4;
}
/// Returns the size of the shared memory of the route kernel in bytes. The first table holds the expert of
/// each pair. The second also holds the expert if the pair is the expert's first one, otherwise kMostExperts.
PARETOKEN_HOST_DEVICE constexpr int route_shared_bytes(std::int32_t tokens, std::int32_t active) {
    return route_table_size(tokens * active) * 2 * static_cast<int>(sizeof(std::int32_t));
}

/// A candidate in the choice of an expert for a token. The larger key wins; if keys are equal, the lower
/// number wins.
struct ExpertCandidate {
    float key = 0;
    std::int32_t expert = 0;

    PARETOKEN_HOST_DEVICE bool before(const ExpertCandidate& other) const {
        return key > other.key || (key == other.key && expert < other.expert);
    }
};

/// Chooses the experts of a token with one warp. Lane i gets the i-th choice.
template <class Machine>
PARETOKEN_HOST_DEVICE std::int32_t chosen_expert(const Machine& m, const RouteCall& call, int token) {
    // kNotThere is the key of experts that do not exist or are already chosen. kLeast is the smallest key of
    // all others; experts that the mask does not allow or whose logit is NaN have it.
    constexpr float kNotThere = -INFINITY;
    constexpr float kLeast = -3.0e38F;
    float keys[kExpertsOfLane];
    PARETOKEN_UNROLL
    for (int j = 0; j < kExpertsOfLane; ++j) {
        const int expert = j * 32 + m.lane();
        keys[j] = kNotThere;
        if (expert >= call.experts) continue;
        const float logit = call.logits[token * call.experts + expert];
        const std::uint32_t mask = call.masks[token * mask_words(call.experts) + j];
        keys[j] = (mask >> m.lane() & 1) != 0 && logit > kLeast ? logit : kLeast;
    }
    std::int32_t mine = 0;
    for (int choice = 0; choice < call.active; ++choice) {
        ExpertCandidate best{keys[0], m.lane()};
        PARETOKEN_UNROLL
        for (int j = 1; j < kExpertsOfLane; ++j) {
            if (keys[j] > best.key) best = {keys[j], j * 32 + m.lane()};
        }
        PARETOKEN_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) {
            const ExpertCandidate other{
                m.shuffle_xor(best.key, distance),
                static_cast<std::int32_t>(m.shuffle_xor(static_cast<float>(best.expert), distance))};
            if (other.before(best)) best = other;
        }
        if (m.lane() == choice) mine = best.expert;
        PARETOKEN_UNROLL
        for (int j = 0; j < kExpertsOfLane; ++j) {
            if (j * 32 + m.lane() == best.expert) keys[j] = kNotThere;
        }
    }
    return mine;
}

/// Runs one thread of the only block. On a GPU, kWarpsOfBlock is kRouteWarps.
template <int kWarpsOfBlock, class Machine>
PARETOKEN_HOST_DEVICE void route_body(const Machine& m, const RouteCall& call) {
    const int pairs = call.tokens * call.active;
    auto* const experts = reinterpret_cast<std::int32_t*>(m.shared());
    std::int32_t* const first_of = experts + route_table_size(pairs);
    const int thread = m.warp() * 32 + m.lane();
    constexpr int kThreadsOfBlock = kWarpsOfBlock * 32;
    for (int i = thread; i < call.entries * call.columns; i += kThreadsOfBlock) call.out.tokens[i] = kNoToken;
    for (int i = thread; i < 2 * call.entries; i += kThreadsOfBlock) call.out.of_entries[i] = 0;
    for (int token = m.warp(); token < call.tokens; token += kWarpsOfBlock) {
        const std::int32_t expert = chosen_expert(m, call, token);
        const bool chosen = m.lane() < call.active;
        const float logit = chosen ? call.logits[token * call.experts + expert] : -INFINITY;
        float most = logit;
        PARETOKEN_UNROLL
        for (int distance = 16; distance > 0; distance /= 2)
            most = fmaxf(most, m.shuffle_xor(most, distance));
        const float part = chosen ? m.exp2((logit - most) * call.scale * kLog2E) : 0;
        float sum = part;
        PARETOKEN_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) sum += m.shuffle_xor(sum, distance);
        if (!chosen) continue;
        call.out.weights[token * call.active + m.lane()] = part / sum;
        experts[token * call.active + m.lane()] = expert;
    }
    m.sync_block();
    for (int pair = thread; pair < pairs; pair += kThreadsOfBlock) {
        int before = 0;
        for (int other = 0; other < pair; ++other) before += experts[other] == experts[pair] ? 1 : 0;
        call.out.places[pair] = before;  // the column, which is replaced by the place below
        first_of[pair] = before == 0 ? experts[pair] : kMostExperts;
    }
    m.sync_block();
    for (int pair = thread; pair < pairs; pair += kThreadsOfBlock) {
        const std::int32_t expert = experts[pair];
        int entry = 0;
        for (int other = 0; other < pairs; ++other) entry += first_of[other] < expert ? 1 : 0;
        const std::int32_t column = call.out.places[pair];
        const bool fits = entry < call.entries && column < call.columns;
        const std::int32_t place = fits ? entry * call.columns + column : kNoPlace;
        call.out.places[pair] = place;
        if (!fits) continue;
        call.out.tokens[place] = pair / call.active;
        if (column != 0) continue;
        call.out.of_entries[entry] = call.stored[expert];
        call.out.of_entries[call.entries + entry] = call.stored[call.experts + expert];
    }
}

// ---- gather

/// out[place] = rows[tokens[place]], or zeros if the place has no token. One block per place.
struct GatherCall {
    const std::uint16_t* rows = nullptr;   ///< [tokens, hidden]
    const std::int32_t* tokens = nullptr;  ///< [places]
    std::uint16_t* out = nullptr;          ///< [places, hidden]
    std::int32_t hidden = 0;               ///< a multiple of 8
};

inline constexpr int kGatherThreads = 128;

template <class Machine>
PARETOKEN_HOST_DEVICE void gather_body(const Machine& m, const GatherCall& call) {
    const std::int64_t place = m.piece();
    const std::int32_t token = call.tokens[place];
    const std::int32_t words = call.hidden / 8;
    const auto* const from = reinterpret_cast<const Words*>(call.rows) +
                             (token == kNoToken ? 0 : static_cast<std::int64_t>(token) * words);
    Words* const to = reinterpret_cast<Words*>(call.out) + place * words;
    for (int i = m.warp() * 32 + m.lane(); i < words; i += kGatherThreads)
        to[i] = token == kNoToken ? Words{} : from[i];
}

// ---- mix

/// The arguments of the mix kernel. It computes out = result of the shared experts + Σ weight · result of
/// the chosen expert, added in the order of the choices. The row of a token in `out` is NaN if one of its
/// pairs (token, expert) has no place. Each block computes kGateThreads · 4 columns of one token.
struct MixCall {
    const float* results = nullptr;        ///< [places, hidden]
    const float* weights = nullptr;        ///< RoutingTables::weights
    const std::int32_t* places = nullptr;  ///< RoutingTables::places
    const float* shared = nullptr;         ///< [tokens, hidden], or null
    float* out = nullptr;                  ///< [tokens, hidden]
    std::int32_t hidden = 0;               ///< a multiple of 4
    std::int32_t active = 0;
};

template <class Machine>
PARETOKEN_HOST_DEVICE void mix_body(const Machine& m, const MixCall& call) {
    const std::int32_t blocks = gate_blocks_per_row(call.hidden);
    const std::int64_t token = m.piece() / blocks;
    const std::int32_t column = (m.piece() % blocks * kGateThreads + m.warp() * 32 + m.lane()) * 4;
    if (column >= call.hidden) return;
    Floats4 sum = {};
    if (call.shared != nullptr)
        sum = *reinterpret_cast<const Floats4*>(call.shared + token * call.hidden + column);
    for (int i = 0; i < call.active; ++i) {
        const float weight = call.weights[token * call.active + i];
        const std::int64_t place = call.places[token * call.active + i];
        Floats4 x = {{NAN, NAN, NAN, NAN}};
        if (place != kNoPlace)
            x = *reinterpret_cast<const Floats4*>(call.results + place * call.hidden + column);
        PARETOKEN_UNROLL
        for (int e = 0; e < 4; ++e) sum.v[e] += weight * x.v[e];
    }
    *reinterpret_cast<Floats4*>(call.out + token * call.hidden + column) = sum;
}

}  // namespace paretoken::microbench::gpu
