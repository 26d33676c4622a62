#pragma once
// Counts the heap allocations of a thread. This header replaces the global operator new and operator delete.
// Therefore only one source file of a test program may include it.
#include <cstdint>
#include <cstdlib>
#include <new>

namespace paretoken::testing {
inline thread_local std::uint64_t allocations_so_far = 0;

/// Returns the number of calls of operator new in this thread while `action` runs. Allocations of
/// over-aligned types are not counted.
template <class Action>
std::uint64_t allocations_in(Action&& action) {
    const std::uint64_t before = allocations_so_far;
    action();
    return allocations_so_far - before;
}
}  // namespace paretoken::testing

// These operators are not inlined. The compiler would otherwise see a call of malloc paired with a call of
// operator delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++paretoken::testing::allocations_so_far;
    return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
    return operator new(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return operator new(size, std::nothrow);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
