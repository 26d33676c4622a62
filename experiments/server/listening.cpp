#include "experiments/server/listening.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

/// Whether an address of /proc/net/tcp{,6} is a loopback address or stands for all addresses. Each group of
/// eight digits is a word of 32 bits in the byte order of this machine.
bool is_of_this_machine(std::string_view address) {
    constexpr std::string_view kMapped = "0000000000000000FFFF0000";  // ::ffff:a.b.c.d
    if (address.find_first_not_of('0') == std::string_view::npos) return true;
    if (address == "00000000000000000000000001000000") return true;  // ::1
    if (address.size() == kMapped.size() + 8 && address.starts_with(kMapped))
        address.remove_prefix(kMapped.size());
    return address.size() == 8 && address.ends_with("7F");
}

std::set<std::string> sockets_at(std::uint16_t port) {
    constexpr unsigned kListening = 0x0A;
    std::set<std::string> sockets;
    for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream file(table);
        for (std::string line; std::getline(file, line);) {
            std::array<char, 33> address{};
            unsigned at = 0;
            unsigned state = 0;
            unsigned long inode = 0;
            if (std::sscanf(line.c_str(), " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*d %*d %lu",
                            address.data(), &at, &state, &inode) == 4 &&
                at == port && state == kListening && is_of_this_machine(address.data()))
                sockets.insert(fmt::format("socket:[{}]", inode));
        }
    }
    return sockets;
}

/// Returns whether the process with the directory `process` in /proc is in the group.
bool is_in(const fs::path& process, pid_t group) {
    std::ifstream file(process / "stat");
    std::string line;
    std::getline(file, line);
    const auto name_end = line.rfind(')');  // the name of the program may contain any character
    int its_group = -1;
    return name_end != std::string::npos &&
           std::sscanf(line.c_str() + name_end + 1, " %*c %*d %d", &its_group) == 1 && its_group == group;
}

bool holds_one_of(const fs::path& process, const std::set<std::string>& sockets) {
    std::error_code error;
    for (fs::directory_iterator file(process / "fd", error), end; !error && file != end;
         file.increment(error)) {
        std::error_code unreadable;
        if (sockets.contains(fs::read_symlink(file->path(), unreadable).string())) return true;
    }
    return false;
}

}  // namespace

bool listens(pid_t group, std::uint16_t port) {
    const std::set<std::string> sockets = sockets_at(port);
    if (sockets.empty()) return false;
    std::error_code error;
    for (fs::directory_iterator process("/proc", error), end; !error && process != end;
         process.increment(error)) {
        const std::string name = process->path().filename().string();
        const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
        if (is_process && is_in(process->path(), group) && holds_one_of(process->path(), sockets))
            return true;
    }
    return false;
}

}  // namespace paretoken::experiments
