#include "cards/client_ceiling.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "cards/card_file.h"
#include "cards/json_value.h"
#include "core/error.h"

namespace paretoken::cards {
namespace {

constexpr std::string_view kSchema = "paretoken/client-ceiling/1";

/// The text as a JSON string without quotes; control characters, which the values here do not have, are left
/// out.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    return out;
}

}  // namespace

std::vector<std::string> shortfalls(const IntendedLoad& load, const ClientCeiling& ceiling) {
    std::vector<std::string> found;
    const auto compare = [&](double asked, double carried, std::string_view unit) {
        if (carried <= 0 || asked <= carried) return;
        found.push_back(
            fmt::format("the load needs {:.0f} {}, but the client on this host was measured to handle at "
                        "most {:.0f}",
                        asked, unit, carried));
    };
    const double workers = load.workers;
    if (load.requests_per_s) {
        compare(*load.requests_per_s, workers * ceiling.requests_per_s, "requests per second");
        if (load.tokens_per_request) {
            compare(*load.requests_per_s * *load.tokens_per_request, workers * ceiling.events_per_s,
                    "stream events per second");
        }
    }
    if (load.streams) {
        compare(static_cast<double>(*load.streams), static_cast<double>(ceiling.streams), "open streams");
    }
    return found;
}

std::filesystem::path default_ceiling_path() {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    std::filesystem::path folder;
    if (state != nullptr && *state != '\0') {
        folder = state;
    } else if (home != nullptr && *home != '\0') {
        folder = std::filesystem::path(home) / ".local/state";
    } else {
        return {};
    }
    return folder / "paretoken/client_ceiling.json";
}

std::optional<ClientCeiling> stored_ceiling(const std::filesystem::path& path, const std::string& cpu) {
    std::error_code unreadable;
    if (path.empty() || !std::filesystem::exists(path, unreadable)) return std::nullopt;
    const JsonValue value = parse_json_value(read_card_file(path), path.string());
    const JsonCursor top(value, path.string());
    const JsonCursor schema = top.at("schema", "a schema");
    if (schema.string() != kSchema) schema.complain(fmt::format("\"{}\"", kSchema));
    const ClientCeiling ceiling{.events_per_s = top.at("events_per_s", "a number").not_negative(),
                                .requests_per_s = top.at("requests_per_s", "a number").not_negative(),
                                .streams = top.at("streams", "a number").count(),
                                .cpu = top.at("cpu", "a name").string(),
                                .version = top.at("version", "a version").string(),
                                .measured_at = top.at("measured_at", "a time").string()};
    if (ceiling.cpu != cpu) return std::nullopt;
    return ceiling;
}

void store(const ClientCeiling& ceiling, const std::filesystem::path& path) {
    std::error_code failed;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
    std::ofstream file(path, std::ios::trunc);
    file << fmt::format(
        "{{\n  \"schema\": \"{}\",\n  \"events_per_s\": {:.0f},\n  \"requests_per_s\": {:.0f},\n"
        "  \"streams\": {},\n  \"cpu\": \"{}\",\n  \"version\": \"{}\",\n  \"measured_at\": \"{}\"\n}}\n",
        kSchema, ceiling.events_per_s, ceiling.requests_per_s, ceiling.streams, escaped(ceiling.cpu),
        escaped(ceiling.version), escaped(ceiling.measured_at));
    file.close();
    if (!file) {
        throw RuntimeError(fmt::format("cannot write {}; --out takes another path", path.string()));
    }
}

}  // namespace paretoken::cards
