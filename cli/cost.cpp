// paretoken cost: computes the costs of a report from given numbers. It measures nothing and writes no file.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/result/metrics.h"
#include "reports/analysis/cost/questions.h"
#include "reports/files/json/sizing_json.h"
#include "reports/files/recorded_files.h"

namespace paretoken::cli {
namespace {

using reports::CostInput;

/// Numbers beyond this range have results that are infinite.
const AmountWithin kAmount{.least = 1e-12, .most = 1e15};

/// A ratio of input to output such as "8:1".
double ratio_in(const CostInput& input, const std::string& text) {
    char* end = nullptr;
    const double in = std::strtod(text.c_str(), &end);
    const bool has_both = end != text.c_str() && *end == ':';
    const double out = has_both ? std::strtod(end + 1, &end) : 0;
    if (!has_both || *end != '\0' || !(in >= 0) || !(out > 0) || !std::isfinite(in / out))
        throw UsageError(fmt::format("{} {}: expected INPUT:OUTPUT, e.g. 8:1", input.option(), text));
    return in / out;
}

/// The options of one question, as the user gave them.
struct Asked {
    std::map<std::string, std::string> numbers;  ///< by the names of inputs
    std::string model_card;
    std::string run;
    std::string api;
    bool json = false;
};

void answer(const reports::CostQuestion& question, const Asked& asked) {
    reports::CostGiven given;
    if (question.of_model != nullptr) given.model = cards::model_card(asked.model_card);
    if (question.of_run != nullptr) {
        const Metric& metric = *metric_named("ttft");
        reports::for_each_recorded(asked.run, [&](RequestRecord&& record) {
            if (record.warmup || record.outcome != Outcome::ok) return;
            if (const auto ttft = metric.of_request(record)) given.latencies_s.push_back(*ttft);
        });
    }
    given.api_name = asked.api;
    if (!asked.api.empty()) given.api = cards::api_price_named(asked.api, {});
    for (const CostInput& input : question.inputs) {
        if (const std::string& text = asked.numbers.at(input.name); !text.empty())
            given.numbers[input.name].value = input.takes == CostInput::Takes::ratio
                                                  ? ratio_in(input, text)
                                                  : std::strtod(text.c_str(), nullptr);
    }
    const reports::CostAnswer found = reports::answer_of(question, std::move(given));
    print("{}\n", asked.json ? reports::cost_answer_json(found) : found.text());
}

void add_question(CLI::App& cost, const reports::CostQuestion& question) {
    const auto asked = std::make_shared<Asked>();
    CLI::App* command = cost.add_subcommand(question.name, question.help);
    std::string formulas;
    for (const auto& [figure, formula] : question.formulas)
        formulas += fmt::format("{}{} = {}", formulas.empty() ? "Formulas: " : "; ", figure, formula);
    command->footer(formulas + ".");
    if (question.of_model != nullptr)
        command->add_option("--model-card", asked->model_card, "A known model, a config.json or a GGUF file")
            ->required();
    if (question.of_run != nullptr)
        command->add_option("--run", asked->run, "Directory of a run, for its times")->required();
    bool of_api = false;
    for (const CostInput& input : question.inputs) {
        of_api = of_api || input.of_api != nullptr;
        std::string& text = asked->numbers[input.name];
        if (input.takes == CostInput::Takes::flag) {
            command->add_flag_callback(
                input.option(), [&text] { text = "1"; }, input.help);
            continue;
        }
        const bool is_ratio = input.takes == CostInput::Takes::ratio;
        CLI::Option* option = command->add_option(input.option(), text, input.help);
        if (!is_ratio) option->check(kAmount)->type_name("FLOAT");
        if (input.otherwise)
            option->default_str(fmt::format("{:g}{}", *input.otherwise, is_ratio ? ":1" : ""));
        option->required(!input.otherwise && input.of_api == nullptr);
    }
    if (of_api)
        command->add_option("--api", asked->api, "Hosted API whose prices are used where none is given");
    command->add_flag("--json", asked->json, "Print the inputs with their sources, formulas and figures");
    command->callback([asked, &question] { answer(question, *asked); });
}

}  // namespace

void add_cost(CLI::App& app) {
    CLI::App* sub = app.add_subcommand("cost", "Answer a question about cost by its formula");
    sub->require_subcommand(1);
    for (const reports::CostQuestion& question : reports::cost_questions()) add_question(*sub, question);
}

}  // namespace paretoken::cli
