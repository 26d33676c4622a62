#pragma once
// THE list of fields of a LoadPlan. The options of `run` and `sweep`, their help, configuration files, the
// echo in result files, the fingerprint of a workload and what a resumed sweep compares all iterate it: a new
// option is a row here and its use.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/result.h"

namespace paretoken {

/// The part of a run that a field decides.
enum class FieldKind : std::uint8_t {
    workload,   ///< what requests are made of: part of the fingerprint
    load,       ///< whom they go to, how many there are, and when they start
    measuring,  ///< how the run is measured, and what its hardware is called
    judging,    ///< what the result is held against; recorded requests can be judged anew
    none,       ///< nothing of these: files, notes, credentials
};
std::string_view name_of(FieldKind kind);

/// How a field's text is read, and which JSON type it has in files.
enum class FieldType : std::uint8_t { text, flag, count, number, duration, list };

/// A field's value as text: no text when the value is absent or empty, several for a list.
using Texts = std::vector<std::string>;

/// Field name → value, for the fields that have one. What a command line or a configuration file gives, too.
using PlanTexts = std::map<std::string, Texts, std::less<>>;

struct PlanField {
    std::string_view name;        ///< in files: "num_prompts"
    std::string_view flags = {};  ///< all names of the option, ours first among the long ones; empty: none
    std::string_view group = {};  ///< heading in --help
    FieldType type = FieldType::text;
    FieldKind kind = FieldKind::none;
    bool of_class = false;  ///< each request class has its own
    bool levels = false;    ///< a sweep takes several values and measures each
    bool words = false;     ///< a list whose option takes all words that follow it
    std::string_view help = {};
    Texts (*get)(const LoadPlan& plan, std::size_t request_class) = nullptr;
    /// Throws UsageError that says what is wrong with the text, without the option's name.
    void (*set)(LoadPlan& plan, std::size_t request_class, const Texts& texts) = nullptr;
    /// Takes the value away, where `set` refuses to replace one. Null: `set` replaces.
    void (*clear)(LoadPlan& plan, std::size_t request_class) = nullptr;
    /// Returns the part of a text that may be shown. Null: the field is not secret and is shown whole.
    std::string (*shown)(std::string_view text) = nullptr;
};

std::span<const PlanField> plan_fields();
const PlanField* plan_field_named(std::string_view name);  ///< null when there is none

/// "--num-prompts"; the field's name when it has no option.
std::string option_of(const PlanField& field);

/// The default plan with `texts` applied, in the order of the list. Throws UsageError naming the option and
/// what is wrong with its value, or a name that is no option's.
LoadPlan plan_of(const PlanTexts& texts);

/// The plan with a class for each of its `class_specs`: what the specs say over what the one class of the
/// plan as asked says. Other plans as they are. Throws UsageError naming --class and what is wrong.
LoadPlan with_classes(LoadPlan asked);

/// The options of a plan as asked that are not at their defaults, secrets hidden; plan_of() takes them back.
PlanTexts texts_of(const LoadPlan& plan);

/// Every field that has a value, as one line, secrets hidden. A class's fields have its name before theirs
/// ("batch.isl") where it has one.
PlanEcho echo_of(const LoadPlan& plan);

/// Replaces each hidden secret in `texts` by its value from `environment`, which maps a variable's name to
/// its value or nothing. Throws UsageError naming the variable that is missing.
void restore_secrets(PlanTexts& texts,
                     const std::function<std::optional<std::string>(const std::string&)>& environment);

/// The first field that two plans differ in, and both values; the value is empty where it is not given.
struct PlanDifference {
    const PlanField* field = nullptr;
    std::string name;  ///< the option's, and the class where several differ in name
    std::string before;
    std::string after;
};

/// Looks at the fields for which `compared` is true. Secrets are compared, and hidden in what is returned.
std::optional<PlanDifference> difference(const LoadPlan& before, const LoadPlan& after,
                                         const std::function<bool(const PlanField&)>& compared = {});

/// Compares two echoes in the same way, for example one that was read from a file. A difference between
/// hidden values is not seen. A field that an echo lacks has its default value.
std::optional<PlanDifference> difference(const PlanEcho& before, const PlanEcho& after,
                                         const std::function<bool(const PlanField&)>& compared = {});

/// "paretoken/workload/2": 16 hexadecimal digits over the workload fields of a resolved plan. Runs are
/// comparable when theirs are equal. Seed, salt, model and load are no part of it.
std::string workload_fingerprint(const LoadPlan& resolved);

}  // namespace paretoken
