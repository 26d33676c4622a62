#include "loadgen/periodic.h"

#include <algorithm>
#include <utility>

namespace paretoken::loadgen {

Periodic::Periodic(Duration interval, std::function<void()> task)
    : interval_(interval), task_(std::move(task)), thread_([this] { run(); }) {}

Periodic::~Periodic() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Periodic::run() {
    std::unique_lock lock(mutex_);
    TimePoint due = Clock::now() + interval_;
    while (!wake_.wait_until(lock, due, [this] { return ending_; })) {
        lock.unlock();
        task_();
        lock.lock();
        due = std::max(due + interval_, Clock::now());
    }
}

}  // namespace paretoken::loadgen
