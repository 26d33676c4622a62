#include "reports/analysis/micro/micro_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cards/json_value.h"
#include "core/error.h"

namespace paretoken::reports {
namespace {

using cards::JsonCursor;

std::optional<double> positive_at(const JsonCursor& row, const std::string& key) {
    const auto value = row.find(key);
    return value ? std::optional(value->positive()) : std::nullopt;
}

bool is_aggregate(const JsonCursor& row) {
    const auto type = row.find("run_type");
    return type && type->string() == "aggregate";
}

MicroRow row_of(const JsonCursor& row) {
    MicroRow out{.name = row.at("name", "the benchmark's name").string()};
    if (const auto failed = row.find("error_occurred"); failed && failed->boolean()) {
        const auto message = row.find("error_message");
        out.error = message ? message->string() : "failed";
        out.valid = false;
        return out;
    }
    if (const auto valid = row.find("valid")) out.valid = valid->number() != 0;
    if (const auto label = row.find("label")) out.label = label->string();
    out.median_s = positive_at(row, "median_s");
    out.p10_s = positive_at(row, "p10_s");
    out.p25_s = positive_at(row, "p25_s");
    out.p75_s = positive_at(row, "p75_s");
    out.p90_s = positive_at(row, "p90_s");
    out.bytes_per_s = positive_at(row, "bytes_per_second");
    out.best_bytes_per_s = positive_at(row, "bytes_per_second_best");
    out.flops_per_s = positive_at(row, "flops_per_second");
    out.of_ceiling = positive_at(row, "of_ceiling");
    out.cached_flops_per_s = positive_at(row, "cached_flops_per_second");
    if (const auto share = row.find("huge_page_share")) out.huge_page_share = share->not_negative();
    for (const auto& [key, value] : row.members())
        if (key.starts_with("part_") && key.ends_with("_s"))
            out.part_s.emplace(key.substr(5, key.size() - 7), value.not_negative());
    if (const auto gap = row.find("gap_s")) out.gap_s = gap->number();
    return out;
}

SizeFit fit_of(const JsonCursor& fit) {
    return {.kernel = fit.at("kernel", "the rows that were fitted").string(),
            .fixed_s = fit.at("fixed_s", "seconds").not_negative(),
            .bytes_per_s = fit.at("bytes_per_s", "bytes/s").positive(),
            .points = fit.at("points", "a number of rows").count(),
            .least_bytes = fit.at("least_bytes", "bytes").positive(),
            .most_bytes = fit.at("most_bytes", "bytes").positive(),
            .worst_residual = fit.at("worst_residual", "a fraction").not_negative()};
}

std::optional<double> optional_positive(const JsonCursor& object, const std::string& key) {
    const auto found = object.find(key);
    return found ? std::optional(found->positive()) : std::nullopt;
}

std::optional<std::string> optional_text(const JsonCursor& object, const std::string& key) {
    const auto found = object.find(key);
    return found ? std::optional(found->string()) : std::nullopt;
}

MicroBackend backend_of(const JsonCursor& text) {
    for (const MicroBackend backend : {MicroBackend::cpu, MicroBackend::gpu})
        if (text.string() == name_of(backend)) return backend;
    text.complain("\"cpu\" or \"gpu\"");
}

MicroDevice device_of(const JsonCursor& json) {
    MicroDevice device{.id = json.at("id", "a name within the file").string(),
                       .backend = backend_of(json.at("backend", "\"cpu\" or \"gpu\"")),
                       .name = json.at("name", "the name of the CPU or GPU").string(),
                       .card = optional_text(json, "card"),
                       .uuid = optional_text(json, "uuid"),
                       .driver = optional_text(json, "driver"),
                       .compute_capability = optional_text(json, "compute_capability"),
                       .memory_bytes = optional_positive(json, "memory_bytes"),
                       .sm_clock_hz = optional_positive(json, "sm_clock_hz"),
                       .memory_clock_hz = optional_positive(json, "memory_clock_hz"),
                       .peak_bytes_per_s = optional_positive(json, "peak_bytes_per_s"),
                       .power_limit_w = optional_positive(json, "power_limit_w")};
    if (const auto cores = json.find("cores")) device.cores = static_cast<std::uint32_t>(cores->count());
    if (const auto mig = json.find("mig")) device.mig = mig->boolean();
    return device;
}

std::vector<MicroDevice> devices_of(const JsonCursor& context) {
    const JsonCursor list = context.at("devices", "the devices that were measured");
    std::vector<MicroDevice> devices;
    for (const JsonCursor& json : list.elements()) {
        MicroDevice device = device_of(json);
        const bool known =
            std::ranges::any_of(devices, [&](const MicroDevice& other) { return other.id == device.id; });
        if (known) json.at("id", "").complain("an id that no other device has");
        devices.push_back(std::move(device));
    }
    if (devices.empty()) list.complain("at least one device");
    return devices;
}

/// The id of the device that a row or fit belongs to. Rows without a backend in their name belong to the CPU.
std::string owner_of(const JsonCursor& json, std::string_view name, const MicroFile& file) {
    if (const auto given = json.find("device")) {
        const std::string id = given->string();
        const bool known =
            std::ranges::any_of(file.devices, [&](const MicroDevice& device) { return device.id == id; });
        if (!known) given->complain("the id of one of the devices in the context");
        return id;
    }
    const bool gpu = parse_row_name(name).axis("backend") == name_of(MicroBackend::gpu);
    const MicroBackend backend = gpu ? MicroBackend::gpu : MicroBackend::cpu;
    std::string owner;
    for (const MicroDevice& device : file.devices) {
        if (device.backend != backend) continue;
        if (!owner.empty())
            throw UsageError(
                fmt::format("{}: {}: several devices have the backend {}: name one with \"device\"",
                            file.where, name, name_of(backend)));
        owner = device.id;
    }
    if (owner.empty())
        throw UsageError(fmt::format("{}: {}: no device in the context has the backend {}", file.where, name,
                                     name_of(backend)));
    return owner;
}

/// Throws for a schema that this program does not read; for the schema of an older program the message gives
/// the reason.
void expect_schema(const JsonCursor& schema, const std::string& where) {
    if (schema.string() == kMicroSchema) return;
    if (schema.string() == "paretoken/micro/1")
        throw UsageError(fmt::format(
            "{}: paretoken/micro/1 does not say which device a row belongs to: measure again with "
            "`paretoken micro`, which writes {}",
            where, kMicroSchema));
    schema.complain(fmt::format("\"{}\"", kMicroSchema));
}

}  // namespace

std::string_view name_of(MicroBackend backend) {
    switch (backend) {
        case MicroBackend::cpu:
            return "cpu";
        case MicroBackend::gpu:
            return "gpu";
    }
    return "";
}

double MicroRow::bytes() const {
    return bytes_per_s && median_s ? *bytes_per_s * *median_s : 0;
}

double MicroRow::flops() const {
    return flops_per_s && median_s ? *flops_per_s * *median_s : 0;
}

std::string title_of(const MicroDevice& device) {
    if (!device.cores) return device.name;
    return fmt::format("{} ({} core{})", device.name, *device.cores, *device.cores == 1 ? "" : "s");
}

std::string RowName::axis(const std::string& key) const {
    const auto found = axes.find(key);
    return found == axes.end() ? std::string() : found->second;
}

std::optional<double> RowName::number(const std::string& key) const {
    const std::string text = axis(key);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end == text.c_str() + text.size() && value >= 1 ? std::optional(value) : std::nullopt;
}

std::string over_all_ops(const std::string& row, const RowName& name) {
    const std::string part = "op:" + name.axis("op");
    const auto at = row.find(part);
    if (!name.axes.contains("op") || at == std::string::npos) return row;
    return row.substr(0, at) + "op:*" + row.substr(at + part.size());
}

RowName parse_row_name(std::string_view name) {
    RowName row;
    while (!name.empty()) {
        const auto slash = name.find('/');
        const std::string_view part = name.substr(0, slash);
        name = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
        const auto colon = part.find(':');
        if (colon != std::string_view::npos)
            row.axes.emplace(part.substr(0, colon), part.substr(colon + 1));
        else if (row.axes.empty())
            row.family += (row.family.empty() ? "" : "/") + std::string(part);
    }
    return row;
}

MicroFile parse_micro_file(std::string_view json, const std::string& where) {
    const cards::JsonValue value = cards::parse_json_value(json, where);
    const JsonCursor root(value, where);
    const JsonCursor context = root.at("context", "what `paretoken micro` writes");
    const JsonCursor schema =
        context.at("paretoken_schema", fmt::format("\"{}\" (from `paretoken micro`)", kMicroSchema));
    expect_schema(schema, where);
    MicroFile file{.where = where,
                   .date = context.at("date", "the date of the measurement").string(),
                   .devices = devices_of(context)};
    for (const auto& [key, entry] : context.members())
        if (entry.is_string()) file.context.emplace(key, entry.string());
    for (const JsonCursor& row : root.at("benchmarks", "a list of measurements").elements())
        if (!is_aggregate(row)) {
            file.rows.push_back(row_of(row));
            file.rows.back().device = owner_of(row, file.rows.back().name, file);
        }
    if (const auto fits = root.find("fits"))
        for (const JsonCursor& fit : fits->elements()) {
            file.fits.push_back(fit_of(fit));
            file.fits.back().device = owner_of(fit, file.fits.back().kernel, file);
        }
    return file;
}

}  // namespace paretoken::reports
