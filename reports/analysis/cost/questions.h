#pragma once
// The questions of `paretoken cost`, one row each: options, help, text and JSON follow from the row, and a
// deployment plan answers those whose inputs it knows. Prices are in dollars, those of tokens per million.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"

namespace paretoken::reports {

/// A number, and where it comes from: "given", "default", "api:NAME" or a part of a plan.
struct CostValue {
    double value = 0;
    std::string source = "given";

    bool operator==(const CostValue&) const = default;
};

/// One number that a question needs, which is also an option of its command.
struct CostInput {
    enum class Takes : std::uint8_t {
        amount,    ///< a number of at least 0
        positive,  ///< a number above 0
        from_one,  ///< a number of at least 1
        share,     ///< a number from 0 to 1
        ratio,     ///< input ÷ output, written as 8:1
        flag       ///< 1 if it is given, else 0
    };
    const char* name;  ///< as in formulas; the option has "-" in place of "_"
    const char* help;
    Takes takes = Takes::amount;
    std::optional<double> otherwise = {};  ///< its value if it is not given; required if absent
    /// The price of a hosted API, by the numbers of the inputs before it; nothing if it has none.
    std::optional<double> (*of_api)(const cards::ApiPrice&,
                                    const std::map<std::string, CostValue>&) = nullptr;
    const char* known_as = nullptr;  ///< its name among the numbers of a plan, if it is another

    std::string option() const;  ///< "--usd-per-h"
};

/// What is known when a question is answered.
struct CostGiven {
    std::map<std::string, CostValue> numbers = {};  ///< by the names of inputs
    std::optional<cards::ModelCard> model = {};
    std::vector<double> latencies_s = {};  ///< times to first token of a run
    std::optional<cards::ApiPrice> api = {};
    std::string api_name = {};
};

struct CostQuestion;

struct CostAnswer {
    const CostQuestion* question = nullptr;  ///< one of cost_questions()
    std::map<std::string, CostValue> inputs = {};
    std::map<std::string, double> figures = {};  ///< the values of the formulas
    std::string result = {};                     ///< the figures in words; may be empty
    std::string verdict = {};                    ///< what follows from them; may be empty

    std::string text() const;  ///< both in one line
    bool operator==(const CostAnswer&) const = default;
};

struct CostQuestion {
    /// A figure and its formula, which uses inputs and the figures before it.
    struct Formula {
        const char* figure;
        const char* formula;
    };
    /// The words for a condition, a formula that is not 0 ("" always holds). "{figure:2}" stands for a number
    /// with two decimals, or with three significant digits if the decimals are not given or would hide them.
    struct Words {
        const char* condition;
        const char* result;
        const char* verdict = "";
    };
    const char* name;
    const char* help;
    std::vector<CostInput> inputs;
    std::vector<Formula> formulas;
    std::vector<Words> words;          ///< the first whose condition holds
    std::vector<Words> refusals = {};  ///< conditions for which there is no answer, and why
    /// Add the numbers that come from the model card or the run; null if the question needs none.
    void (*of_model)(CostGiven& given) = nullptr;
    void (*of_run)(CostGiven& given) = nullptr;
    /// Formula of the tokens of a prompt, which an API may find too short for its cache: then `caches` is 0
    /// in formulas, and the API's cache costs as much as fresh input. Null if the question does not say them.
    const char* prompt_tokens = nullptr;
};

const std::vector<CostQuestion>& cost_questions();

/// Throws UsageError naming an input that is missing or outside its range, or why there is no answer.
CostAnswer answer_of(const CostQuestion& question, CostGiven given);

/// The answers to all questions whose inputs are known or have a default.
std::vector<CostAnswer> answers_from(const CostGiven& known);

}  // namespace paretoken::reports
