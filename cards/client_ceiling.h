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
    /// The highest rate of stream events (pieces of streamed answers) for which the p99 of the time from the
    /// kernel's receive timestamp to the client's read was below 1 ms.
    double events_per_s = 0;
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

/// Returns one sentence for each quantity of a load that exceeds the ceiling of one worker ×
/// IntendedLoad::workers. Unknown quantities, and those whose ceiling is 0, are left out.
std::vector<std::string> shortfalls(const IntendedLoad& load, const ClientCeiling& ceiling);

/// The path of the ceiling's file: $XDG_STATE_HOME/paretoken/client_ceiling.json, or
/// ~/.local/state/paretoken/client_ceiling.json if that variable is not set. Empty if HOME is not set either.
std::filesystem::path default_ceiling_path();

/// Reads the stored ceiling; nothing if there is none, or if it was measured on another CPU than `cpu`.
/// Throws UsageError when the file cannot be read or is damaged.
std::optional<ClientCeiling> stored_ceiling(const std::filesystem::path& path, const std::string& cpu);

/// Writes the ceiling; creates the directories of `path`. Throws RuntimeError.
void store(const ClientCeiling& ceiling, const std::filesystem::path& path);

}  // namespace paretoken::cards
