#include "cli/console/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <utility>

namespace paretoken::cli {
namespace {

sigset_t watched() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    // Under nohup SIGHUP is ignored and has to stay so; a blocked signal would still be delivered.
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
    return set;
}

constexpr int kKilledBySigint = 130;
constexpr std::string_view kNothing = "\nparetoken: interrupted before the measurement began\n";

}  // namespace

InterruptWatch::InterruptWatch(std::string_view first, std::string_view second)
    : first_(first), second_(second) {
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

InterruptWatch::Preparation::Preparation(InterruptWatch& watch, std::function<void()> last) : watch_(watch) {
    const std::lock_guard lock(watch_.mutex_);
    watch_.last_ = std::move(last);
}

void InterruptWatch::Preparation::end() {
    const std::lock_guard lock(watch_.mutex_);
    watch_.last_ = {};
}

void InterruptWatch::print_by(std::function<void(std::string_view)> say) {
    const std::lock_guard lock(mutex_);
    say_ = std::move(say);
}

void InterruptWatch::print(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (say_) return say_(text);
    [[maybe_unused]] const auto n = write(STDERR_FILENO, text.data(), text.size());
}

void InterruptWatch::watch() {
    const sigset_t set = watched();
    const timespec patience{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!over_) {
        const int signal = sigtimedwait(&set, nullptr, &patience);
        if (signal < 0) continue;
        {
            const std::lock_guard lock(mutex_);
            if (last_) {
                last_();
                [[maybe_unused]] const auto n = write(STDERR_FILENO, kNothing.data(), kNothing.size());
                _exit(kKilledBySigint);
            }
        }
        if (!source_.stop_requested()) {
            print(first_);
            source_.request_stop();
            continue;
        }
        if (signal == SIGHUP) continue;  // a closing terminal may send several; they are no second request
        if (second_.empty() || cut_off_.stop_requested()) _exit(kKilledBySigint);
        print(second_);
        cut_off_.request_stop();
    }
}

}  // namespace paretoken::cli
