#include "cli/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace paretoken::cli {
namespace {

sigset_t watched() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

constexpr int kKilledBySigint = 130;

}  // namespace

InterruptWatch::InterruptWatch(std::string_view first) : first_(first) {
    const sigset_t set = watched();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::thread([this] { watch(); });
}

InterruptWatch::~InterruptWatch() {
    over_ = true;
    thread_.join();
    const sigset_t set = watched();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void InterruptWatch::watch() {
    const sigset_t set = watched();
    const timespec patience{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!over_) {
        if (sigtimedwait(&set, nullptr, &patience) < 0) continue;
        if (source_.stop_requested()) _exit(kKilledBySigint);
        [[maybe_unused]] const auto n = write(STDERR_FILENO, first_.data(), first_.size());
        source_.request_stop();
    }
}

}  // namespace paretoken::cli
