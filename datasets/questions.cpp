#include "datasets/questions.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <filesystem>

#include "core/error.h"
#include "datasets/files/custom_jsonl.h"
#include "datasets/files/file_dataset.h"
#include "datasets/files/json_row.h"
#include "datasets/files/row_file.h"
#include "datasets/synthetic/recall.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kWanted =
    R"("expect" must be an object such as {"contains": "Paris"}, with one of exact, regex, contains, number)";

/// Returns a text, or a number with the characters that the file has.
std::string wanted_text(dom::element value, const RowPlace& place) {
    if (std::string_view text; !value.get(text)) return std::string(text);
    if (value.is_number()) return simdjson::minify(value);
    place.refuse(kWanted);
}

Expectation expectation_in(std::string_view row, const RowPlace& place) {
    dom::object expect;
    if (object_of(row, place)["expect"].get(expect) || expect.size() != 1) place.refuse(kWanted);
    const auto field = *expect.begin();
    for (const Expect kind : {Expect::exact, Expect::regex, Expect::contains, Expect::number}) {
        if (field.key != name_of(kind)) continue;
        Expectation found{.kind = kind, .text = wanted_text(field.value, place)};
        if (const std::string why = why_impossible(found); !why.empty())
            place.refuse(fmt::format("\"{}\" {}", name_of(kind), why));
        return found;
    }
    place.refuse(kWanted);
}

Questions questions_in_file(const std::string& path) {
    Questions questions{.dataset = {"custom", {}}, .path = path};
    const RowFormat format = custom_format({});
    const RowFile file(path, RowLayout::lines, [&](std::string_view text, const RowPlace& place) {
        const Row row = format.read(text, {}, place);
        if (!row.unusable.empty() || row.output_tokens == 0)
            place.refuse("a question needs a prompt and an answer of at least one token");
        if (!row.conversation.empty()) place.refuse("a question stands alone: leave \"conversation\" out");
        if (!row.output_tokens) questions.dataset.fields["osl"] = "256";
        questions.expected.push_back(expectation_in(text, place));
    });
    questions.name = fmt::format("{} {}", std::filesystem::path(path).filename().string(), file.content());
    return questions;
}

Questions recall_questions(const Spec& spec) {
    const RecallOptions options = recall_options(spec);
    Questions questions{.name = fmt::format("recall:ctx={},n={}", options.context, options.questions),
                        .dataset = spec};
    questions.dataset.fields["osl"] = fmt::format("{}", options.output_tokens);
    for (std::uint64_t i = 0; i < options.questions; ++i)
        questions.expected.push_back({.kind = Expect::number, .text = recall_question(i).value});
    return questions;
}

}  // namespace

Questions questions_of(std::string_view text) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(text, ignored)) return questions_in_file(std::string(text));
    if (text == "recall" || text.starts_with("recall:")) return recall_questions(parse_spec(text));
    throw UsageError(
        fmt::format("--probe {}: neither a file of JSON lines nor recall:ctx=4k,n=40; check the path", text));
}

}  // namespace paretoken::datasets
