#include "core/plan/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/plan/plan_classes.h"
#include "core/plan/rows/refused.h"
#include "core/plan/rows/value.h"
#include "core/spec.h"
#include "core/text/command_secrets.h"

namespace paretoken::rows {
namespace {

using enum FieldKind;
using enum FieldType;

constexpr Interval kRatios{0, 0.99};
constexpr Interval kToolScale{0, 1000};

constexpr std::string_view kInputLength = "isl";
constexpr std::string_view kOutputLength = "osl";
constexpr std::string_view kRatio = "ratio";

void known_replies(const std::string& replies) {
    if (replies == "live" || replies == "recorded") return;
    throw UsageError(fmt::format("'{}': expected live or recorded", replies));
}

void known_prompt_form(const std::string& form) {
    if (form == "auto" || form == "text" || form == "token-ids") return;
    throw UsageError(fmt::format("'{}': expected auto, text or token-ids", form));
}

/// Returns whether a field of the dataset's Spec has an option of its own.
bool has_own_option(std::string_view key) {
    return key == kInputLength || key == kOutputLength || key == kRatio;
}

Texts get_dataset(const LoadPlan& plan, std::size_t request_class) {
    Spec spec = plan.classes[request_class].dataset;
    std::erase_if(spec.fields, [](const auto& field) { return has_own_option(field.first); });
    return texts_of(spec);
}

Texts get_dataset_field(const LoadPlan& plan, std::size_t request_class, std::string_view key) {
    const auto& fields = plan.classes[request_class].dataset.fields;
    const auto field = fields.find(std::string(key));
    return field == fields.end() ? Texts{} : Texts{field->second};
}

void set_dataset_field(LoadPlan& plan, std::size_t request_class, std::string_view key, std::string text) {
    Spec& dataset = plan.classes[request_class].dataset;
    const auto [field, is_new] = dataset.fields.emplace(key, text);
    if (!is_new) {
        throw UsageError(
            fmt::format("'{}': --dataset says {}={} already; give one of the two", text, key, field->second));
    }
}

/// Throws a UsageError for 1,000, of which a Spec would take the comma for the end of a field.
void refuse_grouped_number(const std::string& text) {
    if (text.find(',') == std::string::npos || text.find_first_not_of("0123456789,") != std::string::npos)
        return;
    std::string digits = text;
    std::erase(digits, ',');
    throw UsageError(fmt::format("'{}': a number has no commas; write {}", text, digits));
}

template <const std::string_view& key>
struct DatasetField {
    static Texts get(const LoadPlan& plan, std::size_t request_class) {
        return get_dataset_field(plan, request_class, key);
    }
    /// Sets a length, which has a Spec's form; its commas become semicolons inside the dataset's Spec.
    static void set(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        std::string text = only(texts);
        refuse_grouped_number(text);
        std::ranges::replace(text, ',', ';');
        set_dataset_field(plan, request_class, key, std::move(text));
    }
    static void clear(LoadPlan& plan, std::size_t request_class) {
        plan.classes[request_class].dataset.fields.erase(std::string(key));
    }
};

template <const std::string_view& key>
constexpr FieldValue dataset_field = {.get = DatasetField<key>::get,
                                      .set = DatasetField<key>::set,
                                      .clear = DatasetField<key>::clear,
                                      .of_class = true};

void set_ratio(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const double ratio = parse_number(only(texts));
    within<kRatios>(ratio);
    set_dataset_field(plan, request_class, kRatio, fmt::format("{}", ratio));
}

void set_dataset_path(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const auto& fields = plan.classes[request_class].dataset.fields;
    const auto other = fields.find("path");
    if (other != fields.end() && other->second != only(texts))
        throw UsageError(fmt::format("'{}': --dataset says path={} already; give one of the two", only(texts),
                                     other->second));
    member<&RequestClass::dataset_path>.set(plan, request_class, texts);
}

void clear_dataset_path(LoadPlan& plan, std::size_t request_class) {
    plan.classes[request_class].dataset_path.clear();
    plan.classes[request_class].dataset.fields.erase("path");
}

void set_class_specs(LoadPlan& plan, std::size_t, const Texts& texts) {
    std::set<std::string> names;
    for (const std::string& text : texts) {
        const std::string name = class_name_and_fields(text).first;
        if (!names.insert(name).second)
            throw UsageError(fmt::format("'{}': there are two classes '{}'", text, name));
    }
    plan.class_specs = texts;
}

constexpr std::array kWorkloadRows = {
    PlanField{.name = "class_name", .kind = workload, .value = member<&RequestClass::name>},
    PlanField{.name = "class",
              .kind = load,
              .help = "Class of requests with options of its own, which take precedence over those of the "
                      "command line: 'interactive:rate=4,isl=512,osl=128,goodput=ttft:500'. May be repeated. "
                      "Keys are the names of options; within a value, ';' stands for ',' and ';;' for ';'",
              .value = with_set(member<&LoadPlan::class_specs>, set_class_specs)},
    PlanField{.name = "priority",
              .kind = workload,
              .help = "Priority to send with each request, for servers that accept one (vLLM)",
              .value = typed(text, member<&RequestClass::priority>)},
    PlanField{.name = "dataset",
              .synonyms = "--dataset-name:vllm,sglang",
              .kind = workload,
              .help = "Source of the requests: {names} [custom if there is a path, else synthetic]",
              .value = {.get = get_dataset, .set = member<&RequestClass::dataset>.set, .of_class = true}},
    PlanField{.name = "dataset_path",
              .synonyms = "--input-file:aiperf",
              .help =
                  "File of requests or a trace, whose format is recognised unless --dataset names one; for "
                  "custom: JSON lines with prompt or messages",
              .value = {.get = member<&RequestClass::dataset_path>.get,
                        .set = set_dataset_path,
                        .clear = clear_dataset_path,
                        .of_class = true}},
    PlanField{.name = "dataset_content", .kind = workload, .value = member<&RequestClass::dataset_content>},
    PlanField{.name = "replies",
              .kind = workload,
              .help = "Answers with which conversations continue: live (the server's) or recorded (the "
                      "dataset's) [live]",
              .value = checked<known_replies, &RequestClass::replies>},
    PlanField{
        .name = "tool_scale",
        .kind = workload,
        .help = "Factor of the recorded times of tools between the turns of jobs; 0 leaves them out [1]",
        .value = checked<within_if_given<kToolScale>, &RequestClass::tool_scale>},
    PlanField{.name = "tool_time",
              .kind = workload,
              .help =
                  "Times of tools that replace the dataset's, where it has any: lognormal:mean=5s,cv=1 or "
                  "another duration as for --think-time, drawn for each turn of each play of a job",
              .value = checked<random_duration, &RequestClass::tool_time>},
    PlanField{.name = "idle_cap",
              .kind = workload,
              .help = "Longest recorded pause before a turn of a job: 60s; longer ones, tools included, are "
                      "cut to it [no limit]",
              .value = member<&RequestClass::idle_cap>},
    PlanField{.name = "idle_job_cap",
              .kind = workload,
              .help = "Longest time without any request of a live job in flight: 300s; the pauses of all "
                      "agents of the job are then shortened alike [no limit]",
              .value = member<&RequestClass::idle_job_cap>},
    PlanField{.name = "idle_system_cap",
              .kind = workload,
              .help = "Longest time without any request in flight while jobs pause: 10s; the pauses of all "
                      "jobs are then shortened alike [no limit]",
              .value = {.get = member<&RequestClass::idle_system_cap>.get,
                        .set = member<&RequestClass::idle_system_cap>.set,
                        .type = duration}},
    PlanField{.name = "start_inside",
              .kind = workload,
              .help = "Closed loop of jobs: the first job of each slot begins at a share of its turns, drawn "
                      "from 0.25..0.75, after a primer turn of each of its agents, which is a warm-up; "
                      "0.25..0.75+10: the ten turns after them are warm-ups too, without pauses",
              .value = member<&RequestClass::start_inside>},
    PlanField{.name = "isl",
              .synonyms = "--random-input-len:vllm,sglang --input-len:vllm "
                          "--synthetic-input-tokens-mean:aiperf --prompt-input-tokens-mean:aiperf",
              .kind = workload,
              .help = "Input length in tokens: 512, uniform:min=1;max=8, normal:mean=…;stddev=…, "
                      "lognormal:mean=512;cv=1, zipf:s=1.1;max=4096, empirical:path=FILE;column=K, or, "
                      "together with output lengths, pairs:512/128=.7;4096/256=.3 [512]",
              .value = dataset_field<kInputLength>},
    PlanField{.name = "osl",
              .synonyms = "--random-output-len:vllm,sglang --output-len:vllm "
                          "--sharegpt-output-len:vllm,sglang --custom-output-len:vllm --hf-output-len:vllm "
                          "--output-tokens-mean:aiperf --prompt-output-tokens-mean:aiperf",
              .kind = workload,
              .help = "Output length in tokens (max_tokens): a number or a distribution, as for --isl [128]",
              .value = dataset_field<kOutputLength>},
    PlanField{.name = "range_ratio",
              .synonyms = "--random-range-ratio:vllm,aiperf",
              .kind = workload,
              .help = "Draw each length uniformly from L(1-ratio) to L(1+ratio), where L is --isl or --osl, "
                      "as vLLM's benchmark does",
              .value = {.get = DatasetField<kRatio>::get,
                        .set = set_ratio,
                        .clear = DatasetField<kRatio>::clear,
                        .type = number,
                        .of_class = true}},
    PlanField{.name = "prompt_form",
              .kind = workload,
              .help = "Form of prompts: text, token-ids, or auto, which means token ids if the endpoint "
                      "accepts them (completions)",
              .value = checked<known_prompt_form, &LoadPlan::prompt_form>},
    PlanField{.name = "ignore_eos",
              .flags = "--ignore-eos,!--no-ignore-eos",
              .synonyms = "!--disable-ignore-eos:sglang",
              .kind = workload,
              .help = "Make answers as long as requested, with the field ignore_eos [on; left out if the "
                      "server refuses it or the protocol has no such field]",
              .value = member<&LoadPlan::sampling, &Sampling::ignore_eos>},
    PlanField{.name = "max_completion_tokens",
              .kind = workload,
              .help = "Send max_completion_tokens instead of max_tokens, as hosted reasoning models require",
              .value = member<&LoadPlan::sampling, &Sampling::max_completion_tokens>},
    PlanField{.name = "temperature",
              .kind = workload,
              .help = "Sampling temperature [the server's]",
              .value = member<&LoadPlan::sampling, &Sampling::temperature>},
    PlanField{.name = "extra_body",
              .synonyms = "--extra-request-body:sglang",
              .kind = workload,
              .help = "JSON object that is merged into every request; its keys take precedence",
              .value = member<&LoadPlan::sampling, &Sampling::extra_body>,
              .shown = json_to_show},
    PlanField{.name = "refused_by_server", .value = member<&LoadPlan::refused>},
    PlanField{.name = "seed",
              .synonyms = "--random-seed:guidellm,aiperf",
              .kind = load,
              .help = "Seed of lengths, prompts and arrivals",
              .value = member<&LoadPlan::seed>},
    PlanField{
        .name = "salt",
        .kind = load,
        .help =
            "Text that makes prompts new to a prefix cache [a new one for every run, which run.json records]",
        .value = member<&LoadPlan::salt>},
    PlanField{.name = "text",
              .help = "Text file from which generated prompts are cut, instead of random words; for servers "
                      "that draft tokens ahead and for models with routed experts",
              .value = member<&LoadPlan::text>},
    PlanField{.name = "text_content", .kind = workload, .value = member<&LoadPlan::text_content>},
    PlanField{
        .name = "salt_prompts",
        .kind = workload,
        .help = "Put a few words of the salt, always the same number, before prompts that come from a file; "
                "in jobs and conversations, before the user's first message, so that they share a system "
                "prompt",
        .value = member<&LoadPlan::salt_prompts>},
};

}  // namespace

std::span<const PlanField> workload_rows() {
    return kWorkloadRows;
}

}  // namespace paretoken::rows
