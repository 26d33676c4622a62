#pragma once
// Composes our options from the parts of a load that the options of another tool gave: a host and a port
// become a URL, a mean and a deviation a distribution, a profile the arrivals.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/words/translation.h"
#include "core/plan/plan_fields.h"

namespace paretoken::cli {

/// The given values: of our fields by their names, and the parts of ForeignOption::about.
struct Parts {
    PlanTexts texts = {};

    bool has(std::string_view name) const { return texts.find(name) != texts.end(); }
    /// Returns the last value of a part, and removes the part.
    std::optional<std::string> take(std::string_view name);
    Texts take_all(std::string_view name);
    /// Returns the values of a part as one list: each may itself be a list, with commas or blanks.
    Texts take_list(std::string_view name);
    /// Returns the value of a field without removing it; empty when there is none.
    std::string value(std::string_view name) const;
    void set(std::string_view name, std::string value);
    void set_if_absent(std::string_view name, std::string value);
    void add(std::string_view name, std::string value);  ///< to a list
};

/// The form of a line, where it changes what the line leaves out.
enum class Form : std::uint8_t {
    usual,
    genai_perf,   ///< its requests come at equal distances
    old_vllm,     ///< benchmark_serving.py, which asks for greedy answers that may end early
    inferencex,   ///< run_benchmark_serving of InferenceX, which sets most options itself
    vllm_batch,   ///< starts the model itself, and sends all prompts at once
    vllm_static,  ///< starts the model itself, and times one batch again and again
    sglang_batch,
    sglang_static,
};

/// The tool whose words were given, if it is known, and whether the line is a whole one of that tool, so that
/// what it leaves out means the tool's defaults.
struct Origin {
    std::optional<Tool> tool = {};
    bool whole = false;
    Form form = Form::usual;
    bool names_server = false;   ///< whether an option of guidellm's gives the server
    bool hides_options = false;  ///< whether the line has further options that are not known

    bool starts_server() const { return form >= Form::vllm_batch; }
};

/// Replaces the parts by values of our fields, and adds notes, and what is absent, to `translation`. Sets its
/// command to "sweep" if the load has several levels. Throws UsageError naming a wrong value.
void compose(Parts& parts, const Origin& origin, Translation& translation);

/// Returns whether a value of --dataset-name or --endpoint-type is another tool's and not ours.
bool is_foreign_value(std::string_view part, std::string_view value);

}  // namespace paretoken::cli
