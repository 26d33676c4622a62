#pragma once
// The highest load that the client on this host can generate, as `paretoken calibrate` measured it, and the
// check of an intended load against it. The ceiling is kept between runs in a small JSON file of the user's.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::cards {

/// All per worker thread but `streams`.
struct ClientCeiling {
    double events_per_s = 0;    ///< largest rate at which the p99 of read − kernel stamp stayed below 1 ms
    double requests_per_s = 0;  ///< one-token requests over kept-alive connections
    std::uint64_t streams = 0;  ///< that the limit on file descriptors leaves room for
    std::string cpu;            ///< of this host when it was measured
    std::string version;        ///< of paretoken
    std::string measured_at;    ///< "2026-11-21T09:45:12Z"

    bool operator==(const ClientCeiling&) const = default;
};

/// A load before it is made. What is not known is left out.
struct IntendedLoad {
    std::optional<double> requests_per_s = {};
    std::optional<double> tokens_per_request = {};
    std::optional<std::uint64_t> streams = {};
    std::uint32_t workers = 1;
};

/// One sentence for each thing that the load asks for and the host was not found to carry. Pure.
std::vector<std::string> shortfalls(const IntendedLoad& load, const ClientCeiling& ceiling);

/// $XDG_STATE_HOME/paretoken/client_ceiling.json, else under ~/.local/state. Empty without a home.
std::filesystem::path default_ceiling_path();

/// Nothing when there is no such file or it was measured on another CPU; throws UsageError when it is
/// damaged.
std::optional<ClientCeiling> stored_ceiling(const std::filesystem::path& path, const std::string& cpu);

/// Throws RuntimeError when it cannot be written.
void store(const ClientCeiling& ceiling, const std::filesystem::path& path);

}  // namespace paretoken::cards
