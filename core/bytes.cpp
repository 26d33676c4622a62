#include "core/bytes.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken {

double parse_bytes(std::string_view text) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
        {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12}};
    if (text == "0") return 0;
    for (const auto& [unit, bytes] : kUnits) {
        if (!text.ends_with(unit)) continue;
        std::string_view number = text.substr(0, text.size() - unit.size());
        while (number.ends_with(' ')) number.remove_suffix(1);
        const double size = parse_number(number) * bytes;
        if (size >= 0) return size;
    }
    throw UsageError(
        fmt::format("\"{}\": expected a size of memory with its unit, such as 24GiB or 80GB", text));
}

}  // namespace paretoken
