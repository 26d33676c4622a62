#include "microbench/threads.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

namespace paretoken::microbench {
namespace {

constexpr int kSpinsBeforeYield = 20'000;

void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

void SpinBarrier::wait() {
    const std::size_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
        arrived_.store(0, std::memory_order_relaxed);
        generation_.store(generation + 1, std::memory_order_release);
        return;
    }
    for (int spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
        if (spins < kSpinsBeforeYield) {
            pause_briefly();
        } else {
            sched_yield();
        }
    }
}

PinnedThreads::PinnedThreads(const std::vector<int>& cpus) {
    threads_.reserve(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        threads_.emplace_back([this, i, cpu = cpus[i]] { serve(i, cpu); });
    }
}

PinnedThreads::~PinnedThreads() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void PinnedThreads::run(const std::function<void(std::size_t)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    finished_ = 0;
    ++round_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return finished_ == threads_.size(); });
    work_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void PinnedThreads::serve(std::size_t index, int cpu) {
    pin_to(cpu);
    std::size_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        const auto& work = *work_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            work(index);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (failure && !failure_) failure_ = failure;
        if (++finished_ == threads_.size()) changed_.notify_all();
    }
}

}  // namespace paretoken::microbench
