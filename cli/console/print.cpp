#include "cli/console/print.h"

#include <poll.h>
#include <signal.h>

namespace paretoken::cli {

void let_writes_fail() {
    (void)::signal(SIGPIPE, SIG_IGN);
    (void)::signal(SIGXFSZ, SIG_IGN);
}

bool reader_has_gone(int file) {
    pollfd asked{.fd = file, .events = 0, .revents = 0};
    return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace paretoken::cli
