#pragma once
// Pinned threads for measuring: one per listed CPU, which live as long as the pool, and a spinning barrier
// at which their work meets (a sleeping barrier costs more than the windows that it separates).
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace paretoken::microbench {

class SpinBarrier {
  public:
    explicit SpinBarrier(std::size_t threads) : threads_(threads) {}
    /// Waits until all threads have called it; the barrier can then be used again. After some spinning it
    /// yields the CPU, so that more threads than CPUs still finish.
    void wait();

  private:
    const std::size_t threads_;
    std::atomic<std::size_t> arrived_{0};
    std::atomic<std::size_t> generation_{0};
};

class PinnedThreads {
  public:
    /// Starts the threads. If pinning fails (a container may forbid it), the scheduler places the thread.
    explicit PinnedThreads(const std::vector<int>& cpus);
    ~PinnedThreads();
    PinnedThreads(const PinnedThreads&) = delete;
    PinnedThreads& operator=(const PinnedThreads&) = delete;

    std::size_t size() const { return threads_.size(); }
    /// Runs `work(thread index)` on every thread and returns when all have finished; rethrows the first
    /// exception. Work that waits at a barrier must not throw.
    void run(const std::function<void(std::size_t)>& work);

  private:
    void serve(std::size_t index, int cpu);

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::size_t round_ = 0;
    std::size_t finished_ = 0;
    bool stopping_ = false;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

}  // namespace paretoken::microbench
