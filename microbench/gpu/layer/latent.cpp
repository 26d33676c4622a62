#include "microbench/gpu/layer/latent.h"

#include <cmath>

#include "microbench/cpu/formats.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr auto kRow = static_cast<std::size_t>(kMlaRow);
constexpr auto kValue = static_cast<std::size_t>(kMlaValue);
constexpr auto kRope = static_cast<std::size_t>(kMlaRope);
constexpr auto kNope = static_cast<std::size_t>(kMlaNope);
constexpr auto kOut = static_cast<std::size_t>(kMlaHeadOut);

void append_turned(std::vector<double>& to, std::span<const double> from, std::span<const float> turns) {
    for (std::size_t d = 0; d < kRope; ++d) {
        const std::size_t pair = d % (kRope / 2);
        const double cosine = turns[2 * pair];
        const double sine = turns[2 * pair + 1];
        to.push_back(d == pair ? from[pair] * cosine - from[pair + kRope / 2] * sine
                               : from[d] * cosine + from[pair] * sine);
    }
}

}  // namespace

LatentTurned latent_turned(std::span<const double> q, std::span<const double> kv,
                           std::span<const float> turns, std::span<const std::uint16_t> gain,
                           double epsilon) {
    const std::size_t batch = kv.size() / kRow;
    const std::size_t heads = q.size() / batch / (kNope + kRope);
    LatentTurned result;
    std::vector<double> nope;
    for (std::size_t request = 0; request < batch; ++request) {
        const auto of_request = turns.subspan(request * kRope, kRope);
        for (std::size_t head = 0; head < heads; ++head) {
            const auto from = q.subspan((request * heads + head) * (kNope + kRope), kNope + kRope);
            nope.insert(nope.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(kNope));
            append_turned(result.turned, from.subspan(kNope), of_request);
        }
        const auto row = kv.subspan(request * kRow, kRow);
        double squares = 0;
        for (std::size_t i = 0; i < kValue; ++i) squares += row[i] * row[i];
        const double root = std::sqrt(squares / static_cast<double>(kValue) + epsilon);
        for (std::size_t i = 0; i < kValue; ++i)
            result.rows.push_back(row[i] / root * static_cast<double>(float_of_bf16(gain[i])));
        append_turned(result.rows, row.subspan(kValue), of_request);
    }
    result.nope = transposed(nope, batch, heads);
    return result;
}

std::vector<double> transposed(std::span<const double> from, std::size_t outer, std::size_t inner) {
    const std::size_t size = from.size() / outer / inner;
    std::vector<double> to;
    for (std::size_t i = 0; i < inner; ++i) {
        for (std::size_t o = 0; o < outer; ++o) {
            const auto row = from.subspan((o * inner + i) * size, size);
            to.insert(to.end(), row.begin(), row.end());
        }
    }
    return to;
}

std::vector<double> latent_attended(std::span<const double> q, std::span<const double> rows) {
    std::vector<double> values;
    for (std::size_t at = 0; at < rows.size(); at += kRow) {
        const auto row = rows.subspan(at, kValue);
        values.insert(values.end(), row.begin(), row.end());
    }
    return attention_reference(q, rows, values, 1 / std::sqrt(static_cast<double>(kNope + kRope)));
}

std::vector<double> expanded_attended(std::span<const double> nope, std::span<const double> turned,
                                      std::span<const double> rows, std::span<const double> absorb,
                                      std::span<const double> expand) {
    std::vector<double> q(nope.begin(), nope.end());
    q.insert(q.end(), turned.begin(), turned.end());
    std::vector<double> keys;
    std::vector<double> values;
    for (std::size_t at = 0; at < rows.size(); at += kRow) {
        const auto row = rows.subspan(at, kRow);
        for (std::size_t d = 0; d < kNope; ++d) {
            double key = 0;
            for (std::size_t i = 0; i < kValue; ++i) key += absorb[i * kNope + d] * row[i];
            keys.push_back(key);
        }
        keys.insert(keys.end(), row.begin() + static_cast<std::ptrdiff_t>(kValue), row.end());
        for (std::size_t d = 0; d < kOut; ++d) {
            double value = 0;
            for (std::size_t i = 0; i < kValue; ++i) value += expand[d * kValue + i] * row[i];
            values.push_back(value);
        }
    }
    return attention_reference(q, keys, values, 1 / std::sqrt(static_cast<double>(kNope + kRope)));
}

}  // namespace paretoken::microbench::gpu
