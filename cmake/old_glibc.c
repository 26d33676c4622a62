// Lets a portable build run with glibc 2.28. Debian 12's compiler and static libraries were made for
// glibc 2.36 and use functions that older ones lack. These definitions replace them within the program; their
// names are glibc's.
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/// Whether the process has one thread only (since glibc 2.32). libstdc++ then counts references without
/// atomic instructions, which this definition forgoes.
HIDDEN char __libc_single_threaded = 0;

/// A random number for std::random_device (since glibc 2.36).
HIDDEN uint32_t arc4random(void) {
    uint32_t number = 0;
    if (getentropy(&number, sizeof number) != 0) __builtin_trap();
    return number;
}

/// Waits until a time of any clock (since glibc 2.30), as libstdc++ does where the function is missing: it
/// waits until the corresponding time of the system's clock.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
    struct timespec now;
    struct timespec system;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &system);
    system.tv_sec += until->tv_sec - now.tv_sec;
    system.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (system.tv_nsec < 0) system.tv_nsec += 1000000000, --system.tv_sec;
    if (system.tv_nsec >= 1000000000) system.tv_nsec -= 1000000000, ++system.tv_sec;
    return pthread_cond_timedwait(condition, mutex, &system);
}

/// Waits for events with a timeout in nanoseconds (since glibc 2.35). A kernel before 5.11 answers ENOSYS.
HIDDEN int epoll_pwait2(int epoll, struct epoll_event* events, int most, const struct timespec* timeout,
                        const sigset_t* mask) {
    return (int)syscall(SYS_epoll_pwait2, epoll, events, most, timeout, mask,
                        8 /* bytes of the kernel's mask */);
}

/// Closes all descriptors of a range (since glibc 2.34), one by one with a kernel before 5.9.
HIDDEN int close_range(unsigned first, unsigned last, int flags) {
    const int result = (int)syscall(SYS_close_range, first, last, flags);
    if (result == 0 || errno != ENOSYS) return result;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    for (unsigned long file = first; file <= last && file < limit.rlim_cur; ++file) close((int)file);
    return 0;
}

// glibc 2.29 has new versions of these functions, which differ in how they report errors through a callback
// that nobody uses. The results are the same.
#define OLD_VERSION_1(name)                                 \
    double old_##name(double);                              \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5"); \
    HIDDEN double name(double x) {                          \
        return old_##name(x);                               \
    }
#define OLD_VERSION_2(name)                                 \
    double old_##name(double, double);                      \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5"); \
    HIDDEN double name(double x, double y) {                \
        return old_##name(x, y);                            \
    }

OLD_VERSION_1(exp)
OLD_VERSION_1(exp2)
OLD_VERSION_1(log)
OLD_VERSION_1(log2)
OLD_VERSION_2(pow)
