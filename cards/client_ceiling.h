#pragma once
// The highest load that the client on this host can generate, as `paretoken calibrate` measured it, and the
// check of an intended load against it. The ceiling is stored in a small JSON file of the user.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::cards {

/// The measured ceilings. All rates are per worker thread; `streams` is for the whole process.
struct ClientCeiling {
    double events_per_s = 0;    ///< highest rate at which the p99 of read − kernel stamp was below 1 ms
    double requests_per_s = 0;  ///< rate of one-token requests over kept-alive connections
    std::uint64_t streams = 0;  ///< most streams that the limit on file descriptors allows
    std::string cpu;            ///< CPU of the host that was measured
    std::string version;        ///< version of paretoken
    std::string measured_at;    ///< "2026-11-21T09:45:12Z"

    bool operator==(const ClientCeiling&) const = default;
};

/// A load before it is generated. Values that are not known are absent.
struct IntendedLoad {
    std::optional<double> requests_per_s = {};
    std::optional<double> tokens_per_request = {};
    std::optional<std::uint64_t> streams = {};
    std::uint32_t workers = 1;
};

/// One sentence for each quantity of the load that is known and above the measured ceiling, of all its
/// workers together; empty if there is none. Pure.
std::vector<std::string> shortfalls(const IntendedLoad& load, const ClientCeiling& ceiling);

/// The path of the ceiling's file: $XDG_STATE_HOME/paretoken/client_ceiling.json, or the same below
/// ~/.local/state. Empty without a home directory.
std::filesystem::path default_ceiling_path();

/// Reads the stored ceiling. Nothing when there is no such file or it was measured on another CPU. Throws
/// UsageError when it is damaged.
std::optional<ClientCeiling> stored_ceiling(const std::filesystem::path& path, const std::string& cpu);

/// Writes the ceiling. Throws RuntimeError when the file cannot be written.
void store(const ClientCeiling& ceiling, const std::filesystem::path& path);

}  // namespace paretoken::cards
