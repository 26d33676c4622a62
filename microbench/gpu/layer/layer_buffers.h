#pragma once
// The buffers through which the operations of a decoder layer pass their results in a decode step. One table
// declares them and one function gives their sizes and visits them; device memory, the pointers that launches
// use, and the copies that checks read are all made from these two. Compiles without CUDA.
#include <cstdint>
#include <vector>

#include "microbench/gpu/layer/layer.h"

namespace paretoken::microbench::gpu {

/// Every buffer of a step, as `Of<element type>`. 16-bit numbers are bf16 if the weights are bf16, otherwise
/// fp16; `q` is bf16 if the cache is, otherwise fp16. `residual` and `down` carry a layer's result to the
/// next layer: their sum is its input.
template <template <class> class Of>
struct LayerTable {
    Of<float> residual{};            ///< [batch, hidden], the sum of the results so far
    Of<std::uint16_t> normed{};      ///< [batch, hidden], the result of the operation `norm`
    Of<std::uint16_t> q{};           ///< [batch, query heads · head_dim]; latent: [batch, heads, 576]
    Of<std::uint16_t> attended{};    ///< [batch, query heads · head_dim]; latent: [batch, heads · 128]
    Of<float> o{};                   ///< [batch, hidden]
    Of<std::uint16_t> ffn_normed{};  ///< [batch, hidden], the result of the operation `ffn_norm`
    Of<float> down{};                ///< [batch, hidden], the sum over experts if there are any

    // Grouped-query attention:
    Of<float> qkv{};  ///< [batch, (query heads + 2 KV heads) · head_dim]

    // Latent attention:
    Of<float> q_a{};               ///< [batch, q_rank]
    Of<std::uint16_t> q_normed{};  ///< [batch, q_rank]
    Of<float> q_b{};               ///< [batch, heads, 192]
    Of<float> kv_a{};              ///< [batch, 576]
    Of<std::uint16_t> nope{};      ///< [heads, batch, 128], the numbers of the queries that are not rotated
    Of<float> absorbed{};          ///< [heads, batch, 512]
    Of<float> latent{};            ///< [batch, heads, 512], the result of the attention
    Of<std::uint16_t> of_heads{};  ///< [heads, batch, 512], `latent` in 16 bits, head by head
    Of<float> expanded{};          ///< [heads, batch, 128]

    // A dense feed-forward part, or shared experts:
    Of<float> gate_up{};        ///< [batch, 2 · width]
    Of<std::uint16_t> gated{};  ///< [batch, width]

    // Routed experts:
    Of<float> shared_down{};           ///< [batch, hidden], the result of shared experts; empty without them
    Of<float> logits{};                ///< [batch, experts]
    Of<float> route_weights{};         ///< RoutingTables::weights
    Of<std::int32_t> route_places{};   ///< RoutingTables::places
    Of<std::int32_t> route_tokens{};   ///< RoutingTables::tokens
    Of<std::int32_t> route_entries{};  ///< RoutingTables::of_entries
    Of<std::uint16_t> gathered{};      ///< [places, hidden]
    Of<float> expert_gate_up{};        ///< [places, 2 · width of an expert]
    Of<std::uint16_t> expert_gated{};  ///< [places, width of an expert]
    Of<float> expert_down{};           ///< [places, hidden]
};

/// Calls visit(elements, buffer of each table…) for every buffer. `elements` is 0 if a layer with these
/// options does not have the buffer. `tables` are LayerTables of any kind.
template <class Visit, class... Tables>
void for_each_buffer(const LayerOptions& options, Visit&& visit, Tables&&... tables) {
    const std::size_t rows = options.batch() * options.hidden;
    const std::size_t pairs = options.experts ? options.batch() * options.experts->active : 0;
    const auto outputs = [&options](LayerMatrix matrix) { return outputs_of(options, matrix); };
    const auto inputs = [&options](LayerMatrix matrix) { return inputs_of(options, matrix); };
    visit(rows, tables.residual...);
    visit(rows, tables.normed...);
    visit(options.latent ? options.mla().queries() : inputs(LayerMatrix::o), tables.q...);
    visit(inputs(LayerMatrix::o), tables.attended...);
    visit(rows, tables.o...);
    visit(rows, tables.ffn_normed...);
    visit(rows, tables.down...);
    visit(outputs(LayerMatrix::qkv), tables.qkv...);
    visit(outputs(LayerMatrix::q_a), tables.q_a...);
    visit(inputs(LayerMatrix::q_b), tables.q_normed...);
    visit(outputs(LayerMatrix::q_b), tables.q_b...);
    visit(outputs(LayerMatrix::kv_a), tables.kv_a...);
    visit(inputs(LayerMatrix::absorb), tables.nope...);
    visit(outputs(LayerMatrix::absorb), tables.absorbed...);
    visit(options.latent ? options.mla().outputs() : 0, tables.latent...);
    visit(inputs(LayerMatrix::expand), tables.of_heads...);
    visit(outputs(LayerMatrix::expand), tables.expanded...);
    visit(outputs(LayerMatrix::gate_up), tables.gate_up...);
    visit(inputs(LayerMatrix::down), tables.gated...);
    visit(options.experts ? outputs(LayerMatrix::down) : 0, tables.shared_down...);
    visit(outputs(LayerMatrix::router), tables.logits...);
    visit(pairs, tables.route_weights...);
    visit(pairs, tables.route_places...);
    visit(options.experts ? options.load().places() : 0, tables.route_tokens...);
    visit(options.experts ? 2 * options.load().entries : 0, tables.route_entries...);
    visit(inputs(LayerMatrix::expert_gate_up), tables.gathered...);
    visit(outputs(LayerMatrix::expert_gate_up), tables.expert_gate_up...);
    visit(inputs(LayerMatrix::expert_down), tables.expert_gated...);
    visit(outputs(LayerMatrix::expert_down), tables.expert_down...);
}

template <class Element>
using BufferPointer = Element*;
template <class Element>
using HostBuffer = std::vector<Element>;

/// The addresses of the buffers in the memory of the machine that runs the layer; null if there is none.
using LayerBuffers = LayerTable<BufferPointer>;

/// The addresses of the buffers of `table`, whose containers have data().
template <class Table>
LayerBuffers buffers_of(const LayerOptions& options, Table& table) {
    LayerBuffers buffers;
    for_each_buffer(
        options, [](std::size_t, auto& from, auto& to) { to = from.data(); }, table, buffers);
    return buffers;
}

/// Returns the buffers of the routing.
inline RoutingTables routing_of(const LayerBuffers& buffers) {
    return {buffers.route_weights, buffers.route_places, buffers.route_tokens, buffers.route_entries};
}

/// The buffer that a matrix is multiplied by.
template <template <class> class Of>
const Of<std::uint16_t>& input_of(const LayerTable<Of>& table, LayerMatrix matrix) {
    switch (matrix) {
        case LayerMatrix::qkv:
        case LayerMatrix::q_a:
        case LayerMatrix::kv_a:
            return table.normed;
        case LayerMatrix::q_b:
            return table.q_normed;
        case LayerMatrix::absorb:
            return table.nope;
        case LayerMatrix::expand:
            return table.of_heads;
        case LayerMatrix::o:
            return table.attended;
        case LayerMatrix::gate_up:
        case LayerMatrix::router:
            return table.ffn_normed;
        case LayerMatrix::down:
            return table.gated;
        case LayerMatrix::expert_gate_up:
            return table.gathered;
        case LayerMatrix::expert_down:
            break;
    }
    return table.expert_gated;
}

/// The contents of every buffer after a step, the contents of `residual` and `down` before it, and what the
/// step appended to the cache.
struct LayerSeen : LayerTable<HostBuffer> {
    std::vector<float> residual_before, down_before;
    AppendedTokens appended;

    /// Returns residual + down, the input of the next layer: [batch, hidden].
    std::vector<float> output() const;
};

/// Starts one operation on `machine`, which is a GPU or the tests' emulation, with the buffers `b`.
/// `machine` has the following functions, which return nothing. The arguments after "→" are written.
/// `tables` is a RoutingTables; the other arguments in small letters are pointers to buffers.
///   norm(LayerNorm, residual, delta → out)   multiply(LayerMatrix, x → y)   rope(qkv → q)
///   gate(LayerMatrix, gate_up → out)   route(logits → tables)   gather(rows, tables → out)
///   multiply_experts(LayerMatrix, tables, x → y)   mix(results, tables, shared → out)   attend(q → out)
///   turn_latent(q, kv → nope, turned)   attend_latent(q → out)   narrow(LayerOp, from → to)
/// norm() first adds `delta` to `residual` in place, unless `delta` is null. `shared` is null without
/// shared experts. rope() and turn_latent() also append the new tokens to the KV cache.
template <class Launcher>
void launch_op(LayerOp op, const LayerBuffers& b, Launcher&& machine) {
    switch (op) {
        case LayerOp::norm:
            return machine.norm(LayerNorm::attention, b.residual, b.down, b.normed);
        case LayerOp::qkv:
            return machine.multiply(LayerMatrix::qkv, b.normed, b.qkv);
        case LayerOp::rope:
            return machine.rope(b.qkv, b.q);
        case LayerOp::q_a:
            return machine.multiply(LayerMatrix::q_a, b.normed, b.q_a);
        case LayerOp::q_norm:
            return machine.norm(LayerNorm::query, b.q_a, nullptr, b.q_normed);
        case LayerOp::q_b:
            return machine.multiply(LayerMatrix::q_b, b.q_normed, b.q_b);
        case LayerOp::kv_a:
            return machine.multiply(LayerMatrix::kv_a, b.normed, b.kv_a);
        case LayerOp::latent_rope:
            return machine.turn_latent(b.q_b, b.kv_a, b.nope, b.q);
        case LayerOp::absorb:
            return machine.multiply(LayerMatrix::absorb, b.nope, b.absorbed);
        case LayerOp::narrow_q:
            return machine.narrow(op, b.absorbed, b.q);
        case LayerOp::attention:
            return machine.attend(b.q, b.attended);
        case LayerOp::latent_attention:
            return machine.attend_latent(b.q, b.latent);
        case LayerOp::narrow_latent:
            return machine.narrow(op, b.latent, b.of_heads);
        case LayerOp::expand:
            return machine.multiply(LayerMatrix::expand, b.of_heads, b.expanded);
        case LayerOp::narrow_values:
            return machine.narrow(op, b.expanded, b.attended);
        case LayerOp::o:
            return machine.multiply(LayerMatrix::o, b.attended, b.o);
        case LayerOp::ffn_norm:
            return machine.norm(LayerNorm::feed_forward, b.residual, b.o, b.ffn_normed);
        case LayerOp::gate_up:
            return machine.multiply(LayerMatrix::gate_up, b.ffn_normed, b.gate_up);
        case LayerOp::silu:
            return machine.gate(LayerMatrix::gate_up, b.gate_up, b.gated);
        case LayerOp::down:
            return machine.multiply(LayerMatrix::down, b.gated,
                                    b.shared_down != nullptr ? b.shared_down : b.down);
        case LayerOp::router:
            return machine.multiply(LayerMatrix::router, b.ffn_normed, b.logits);
        case LayerOp::route:
            return machine.route(b.logits, routing_of(b));
        case LayerOp::gather:
            return machine.gather(b.ffn_normed, routing_of(b), b.gathered);
        case LayerOp::expert_gate_up:
            return machine.multiply_experts(LayerMatrix::expert_gate_up, routing_of(b), b.gathered,
                                            b.expert_gate_up);
        case LayerOp::expert_silu:
            return machine.gate(LayerMatrix::expert_gate_up, b.expert_gate_up, b.expert_gated);
        case LayerOp::expert_down:
            return machine.multiply_experts(LayerMatrix::expert_down, routing_of(b), b.expert_gated,
                                            b.expert_down);
        case LayerOp::mix:
            return machine.mix(b.expert_down, routing_of(b), b.shared_down, b.down);
    }
}

}  // namespace paretoken::microbench::gpu
