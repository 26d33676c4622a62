#include "simulator/answers/dialect.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "simulator/answers/answer_writer.h"

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

std::string DialectTraits::error_body(const Refusal& refusal) const {
    return fmt::format(R"({{"error":{}}})", error_object(refusal));
}

std::unique_ptr<AnswerWriter> DialectTraits::writer(AnswerTerms terms) const {
    const ProtocolForm& chosen = form(traits_of(terms.endpoint));
    return chosen.writer(std::move(terms));
}

std::string_view name_of(Dialect dialect) {
    return traits_of(dialect).name;
}

std::optional<Dialect> dialect_named(std::string_view name) {
    for (const Dialect dialect : kDialects)
        if (name_of(dialect) == name) return dialect;
    return std::nullopt;
}

std::vector<std::string> dialect_names() {
    std::vector<std::string> names;
    names.reserve(std::size(kDialects));
    for (const Dialect dialect : kDialects) names.emplace_back(name_of(dialect));
    return names;
}

}  // namespace paretoken::sim
