#include "microbench/cpu/ring.h"

#include <gtest/gtest.h>

#include <numeric>

namespace paretoken::microbench {
namespace {

const std::vector<Piece> kPieces{{.size = 1 << 20, .bytes = 1000, .flops = 1},
                                 {.size = 3 << 20, .bytes = 2000, .flops = 2},
                                 {.size = 64 << 10, .bytes = 3000, .flops = 3}};

std::vector<std::byte> operand_of(std::span<const Piece> pieces) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        bytes.resize(bytes.size() + pieces[i].size, std::byte(i + 1));
    return bytes;
}

TEST(Ring, windows_cover_every_piece_once_in_order) {
    Ring ring(kPieces, 40 << 20);
    ring.fill(operand_of(kPieces));
    std::size_t expected = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < ring.window_count(); ++i) {
        const Window window = ring.window(i);
        const std::byte* at = window.data;
        std::uint64_t bytes = 0;
        ring.for_each(i, [&](std::size_t piece, const std::byte* memory) {
            EXPECT_EQ(piece, expected++ % kPieces.size());
            EXPECT_EQ(memory, at);
            EXPECT_EQ(*memory, std::byte(piece + 1));
            EXPECT_EQ(memory[kPieces[piece].size - 1], std::byte(piece + 1));
            at += kPieces[piece].size;
            bytes += kPieces[piece].bytes;
        });
        EXPECT_EQ(static_cast<std::size_t>(at - window.data), window.size);
        EXPECT_EQ(bytes, window.bytes);
        EXPECT_GE(window.size, kWindowBytes);
        size += window.size;
    }
    EXPECT_LE(size, 40u << 20);
    EXPECT_GT(size, 30u << 20);
}

TEST(Ring, a_ring_smaller_than_a_copy_holds_its_first_pieces) {
    Ring ring(kPieces, 2 << 20);
    ring.fill(operand_of(kPieces));
    EXPECT_EQ(ring.pieces_of_first_copy(), 1u);
    EXPECT_EQ(ring.window_count(), 1u);
    EXPECT_EQ(ring.window(0).size, 1u << 20);
}

TEST(Ring, windows_may_be_smaller_than_usual) {
    const std::vector<Piece> pieces{{.size = 64 << 10, .bytes = 1, .flops = 0}};
    const Ring ring(pieces, 8 << 20, 128 << 10);
    EXPECT_EQ(ring.window_count(), 64u);
    EXPECT_EQ(ring.size(), 8u << 20);
}

TEST(Ring, zeros_follow_the_last_byte) {
    const std::vector<Piece> pieces{{.size = kWindowBytes, .bytes = 1, .flops = 0}};
    Ring ring(pieces, 9 << 20);
    ring.fill(operand_of(pieces));
    const Window last = ring.window(ring.window_count() - 1);
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(last.data[last.size + i], std::byte{0});
}

}  // namespace
}  // namespace paretoken::microbench
