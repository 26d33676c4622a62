#pragma once
// The list of all fields of a LoadPlan, from which options, help, files, fingerprints and comparisons of
// plans are made. A new option is a member of LoadPlan, a row in core/plan/rows/, and the code that uses it.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/provenance.h"

namespace paretoken {

struct LoadPlan;

/// The part of a run that a field decides.
enum class FieldKind : std::uint8_t {
    workload,   ///< the content of requests: part of the fingerprint
    load,       ///< the servers, model, headers, seed and salt; the number and the times of requests
    measuring,  ///< the way of measuring, the questions of a probe, the names of hardware and model card
    judging,    ///< the limits for the result; recorded requests can be judged anew
    none,       ///< other fields: files, notes, the key's variable, the reading of metrics and power
};
std::string_view name_of(FieldKind kind);

/// The type of a field's value. It decides its JSON type in files and the form of its option.
enum class FieldType : std::uint8_t { text, flag, count, number, duration, list };

/// A field's value as texts: none when the value is absent or empty, several for a list.
using Texts = std::vector<std::string>;

/// The values of fields that have one, by name, from command lines and configuration files.
using PlanTexts = std::map<std::string, Texts, std::less<>>;

struct FieldValue {
    Texts (*get)(const LoadPlan& plan, std::size_t request_class) = nullptr;
    /// Sets the value. Throws UsageError naming the mistake in the text, without the option's name.
    void (*set)(LoadPlan& plan, std::size_t request_class, const Texts& texts) = nullptr;
    /// Removes the value, for a field whose `set` refuses to replace a value. Null: `set` replaces it.
    void (*clear)(LoadPlan& plan, std::size_t request_class) = nullptr;
    FieldType type = FieldType::text;
    bool of_class = false;  ///< whether each request class has its own value
};

struct PlanField {
    std::string_view name;  ///< name in files: "num_prompts"
    /// The names of the option with commas between them. A name after "!" turns a flag off, and a name
    /// without dashes is a positional argument. A row with a help text may leave them out: its option then
    /// has the field's name ("--num-prompts"). Empty in plan_fields(): the field has no option.
    std::string_view flags = {};
    /// Names of the option in other tools, with the tools that have it: "--max-concurrency:vllm,sglang".
    std::string_view synonyms = {};
    std::string_view group = {};  ///< heading in --help; a row may leave out that of its file
    FieldType type = {};          ///< set by plan_fields() from `value`, as is `of_class`
    FieldKind kind = FieldKind::none;
    bool of_class = false;
    bool levels = false;  ///< whether a sweep takes several values and measures each
    bool words = false;   ///< whether the option takes all words that follow it, for a list
    /// The text for --help; cli/options/plan_options.cpp replaces "{names}" in it by the possible values.
    std::string_view help = {};
    FieldValue value;
    /// Returns the part of a text that may be shown. Null: the field is not secret and is shown whole.
    std::string (*shown)(std::string_view text) = nullptr;
};

std::span<const PlanField> plan_fields();
const PlanField* plan_field_named(std::string_view name);  ///< null when there is none

/// A name of an option in other tools, and these tools: {"--max-concurrency", "vllm,sglang"}.
struct Synonym {
    std::string_view name;
    std::string_view tools;
};
std::vector<Synonym> synonyms_of(const PlanField& field);

/// Returns the field with this name in files, or with an option or a synonym of this name, with or without
/// its dashes; "-" and "_" are the same. Null when there is none.
const PlanField* plan_field_called(std::string_view name);

Texts shown_texts(const PlanField& field, Texts texts);

/// Returns the first long name of the field's option ("--num-prompts"), or the field's name if it has none.
std::string option_of(const PlanField& field);

/// Returns the default plan with the values of `texts` set, in the order of plan_fields(). Throws UsageError
/// naming the option and the mistake in its value, or a name that is no option.
LoadPlan plan_of(const PlanTexts& texts);

/// Returns the texts from which plan_of() makes a plan as asked again, also those that are defaults, for the
/// fields that have an option. Secrets are hidden; restore_secrets() puts them back.
PlanTexts texts_of(const LoadPlan& plan);

/// Returns the value of every field that has one and is `wanted` (null: all), as one line with secrets
/// hidden. The key is the field's name, after the name of its class if the class has a name ("batch.isl").
PlanEcho echo_of(const LoadPlan& plan, bool (*wanted)(const PlanField& field) = nullptr);

/// Replaces each hidden secret by the value of a variable of `environment`: PARETOKEN_FIELD, or for a text
/// that begins with a name PARETOKEN_FIELD_NAME ("Authorization: ***" → PARETOKEN_HEADER_AUTHORIZATION).
/// Throws UsageError naming the variable that is missing.
void restore_secrets(PlanTexts& texts,
                     const std::function<std::optional<std::string>(const std::string&)>& environment);

/// The first field in which two plans differ, and both values; one that was not given is the default.
struct PlanDifference {
    const PlanField* field = nullptr;
    std::string name;  ///< option, with the class if it has a name: "--isl of class batch"
    std::string before;
    std::string after;
};

/// Compares the fields for which `compared` is true (all if it is null); nothing if they are equal. Secrets
/// are compared, and are hidden in the result.
std::optional<PlanDifference> difference(const LoadPlan& before, const LoadPlan& after,
                                         const std::function<bool(const PlanField&)>& compared = {});

/// The same for echoes of files: hidden values are not compared, missing fields have their defaults.
std::optional<PlanDifference> difference(const PlanEcho& before, const PlanEcho& after,
                                         const std::function<bool(const PlanField&)>& compared = {});

/// Returns 16 hexadecimal digits of a hash over the fields of kind `workload` that are not at their defaults.
/// Runs with equal fingerprints are comparable; seed, salt, model and load are not part of it.
std::string workload_fingerprint(const LoadPlan& resolved);

}  // namespace paretoken
