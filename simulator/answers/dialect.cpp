#include "simulator/answers/dialect.h"

namespace paretoken::sim {

const DialectTraits& traits_of(Dialect dialect) {
    switch (dialect) {
        case Dialect::vllm:
            return kVllm;
        case Dialect::llamacpp:
            return kLlamacpp;
    }
    return kVllm;
}

std::string_view name_of(Dialect dialect) {
    return traits_of(dialect).name;
}

std::optional<Dialect> dialect_named(std::string_view name) {
    for (const Dialect dialect : kDialects)
        if (name_of(dialect) == name) return dialect;
    return std::nullopt;
}

}  // namespace paretoken::sim
