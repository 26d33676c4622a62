#include "microbench/cpu/ring.h"

#include <algorithm>
#include <cstring>

namespace paretoken::microbench {
namespace {
constexpr std::size_t kPadding = 128;  // kernels may look past the last block
}

Ring::Ring(std::span<const Piece> pieces, std::size_t bytes, std::size_t window_bytes) : pieces_(pieces) {
    while (piece_count_ == 0 || size_ + pieces_[piece_count_ % pieces_.size()].size <= bytes) {
        size_ += pieces_[piece_count_ % pieces_.size()].size;
        ++piece_count_;
    }
    const std::size_t wanted = std::min(window_bytes, size_ / 4);
    Stretch window;
    for (std::size_t i = 0; i < piece_count_; ++i) {
        window.size += pieces_[i % pieces_.size()].size;
        ++window.count;
        if (window.size < wanted && !(windows_.empty() && i + 1 == piece_count_)) continue;
        windows_.push_back(window);
        window = {.first = i + 1, .count = 0, .offset = window.offset + window.size, .size = 0};
    }
}

void Ring::fill(std::span<const std::byte> operand) {
    memory_ = HugeMemory(size_ + kPadding);
    for (std::size_t at = 0; at < size_; at += operand.size()) {
        std::memcpy(memory_.data() + at, operand.data(), std::min(operand.size(), size_ - at));
    }
    std::memset(memory_.data() + size_, 0, kPadding);
}

Window Ring::window(std::size_t index) const {
    const Stretch& stretch = windows_[index];
    Window window{.data = memory_.data() + stretch.offset, .size = stretch.size, .bytes = 0};
    for (std::size_t i = 0; i < stretch.count; ++i) {
        const Piece& piece = pieces_[(stretch.first + i) % pieces_.size()];
        window.bytes += piece.bytes;
        window.flops += piece.flops;
    }
    return window;
}

std::size_t Ring::pieces_of_first_copy() const {
    return std::min(piece_count_, pieces_.size());
}

}  // namespace paretoken::microbench
