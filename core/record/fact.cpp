#include "core/record/fact.h"

namespace paretoken {

std::string_view name_of(Fact fact) {
    return kFacts.at(static_cast<std::size_t>(fact)).name;
}

std::optional<Fact> fact_named(std::string_view name) {
    for (const FactText& text : kFacts)
        if (text.name == name) return text.fact;
    return std::nullopt;
}

std::string why_unknown(Facts needs, Facts unknown) {
    for (const FactText& text : kFacts)
        if (needs.overlaps({text.fact}) && unknown.overlaps({text.fact}))
            return "the source of the records does not tell " + std::string(text.what);
    return {};
}

}  // namespace paretoken
