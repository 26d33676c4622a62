#include "datasets/catalog.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "datasets/files/custom_jsonl.h"
#include "datasets/files/mooncake.h"
#include "datasets/files/sharegpt.h"
#include "datasets/files/token_traces.h"
#include "datasets/generated/multi_turn.h"
#include "datasets/generated/prefix_arms.h"
#include "datasets/generated/prefix_cycle.h"
#include "datasets/generated/recall.h"
#include "datasets/generated/shared_prefix.h"
#include "datasets/generated/synthetic.h"

namespace paretoken::datasets {
namespace {

constexpr std::array kCatalog = {
    CatalogRow{"synthetic", "Random prompts of a wanted length", "isl=512,osl=128,ratio=0", make_synthetic},
    CatalogRow{"shared_prefix", "Random prompts that begin alike",
               "groups=8,levels=1000;500,unique=200,zipf=0,osl=128", make_shared_prefix},
    CatalogRow{"prefix_arms", "Prompts of `paretoken cache`, which repeat prefixes in several ways",
               "prefixes=256;1024,suffix=64,osl=16,hits=0.5;0.9", make_prefix_arms},
    CatalogRow{"prefix_cycle", "A number of prefixes in turn, to find the working set that a cache holds",
               "prefixes=8,prefix=1024,suffix=64,osl=16", make_prefix_cycle},
    CatalogRow{"recall", "Questions of `--probe recall`: values to be found in long texts",
               "ctx=4k,n=40,osl=64", make_recall},
    CatalogRow{"multi_turn", "Conversations of random messages", "turns=4,first=500,next=100,osl=128",
               make_multi_turn, nullptr, true, true},
    CatalogRow{"custom", "Prompts from a file of JSON lines", "path=FILE,osl=128", make_custom_jsonl,
               custom_format, false, true},
    CatalogRow{"sharegpt", "ShareGPT's conversations, as many turns of each", "path=FILE,osl=128,turns=1",
               make_sharegpt, sharegpt_format, false, true},
    CatalogRow{"mooncake", "Mooncake's traces: times, lengths and shared prefixes", "path=FILE,block=512",
               make_mooncake, mooncake_format},
    CatalogRow{"azure", "Azure's LLM traces: times and lengths", "path=FILE", make_azure, azure_format},
    CatalogRow{"burstgpt", "BurstGPT's traces: times and lengths", "path=FILE", make_burstgpt,
               burstgpt_format},
    CatalogRow{"log", "A gateway's log: times and lengths", "path=FILE", make_log, log_format},
};

const CatalogRow& row_of(const std::string& name) {
    std::string known;
    for (const CatalogRow& row : kCatalog) {
        if (row.name == name) return row;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    throw UsageError(fmt::format("--dataset '{}' is not a dataset; known are {}", name, known));
}

}  // namespace

std::string_view name_of(PromptForm form) {
    return form == PromptForm::text ? "text" : "token ids";
}

DatasetOptions in_form(DatasetOptions options, PromptForm form) {
    options.form = form;
    return options;
}

std::span<const CatalogRow> catalog() {
    return kCatalog;
}

std::string names_of_file_formats() {
    std::string names;
    for (const CatalogRow& row : kCatalog)
        if (row.format != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return names;
}

std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options) {
    const CatalogRow& row = row_of(options.spec.name);
    const std::string file = file_of(options.spec, options.path);
    try {
        return row.make(options);
    } catch (const UsageError& error) {
        const std::string_view what = error.what();
        if (what.starts_with("--") || (!file.empty() && what.starts_with(file))) throw;
        throw UsageError(fmt::format("--dataset {}: {}", row.name, what));
    }
}

bool makes_prompts(const Spec& spec) {
    return row_of(spec.name).makes_prompts;
}

bool has_conversations(const Spec& spec) {
    return row_of(spec.name).conversations;
}

RowFormat row_format_of(const Spec& spec) {
    const CatalogRow& row = row_of(spec.name);
    if (row.format == nullptr) throw UsageError(fmt::format("--dataset '{}' is not a file", spec.name));
    return row.format(spec);
}

std::string file_of(const Spec& spec, const std::string& path) {
    const CatalogRow& row = row_of(spec.name);
    const auto field = spec.fields.find("path");
    if (row.format == nullptr) return {};
    if (!path.empty()) return path;
    if (field != spec.fields.end() && !field->second.empty()) return field->second;
    throw UsageError(
        fmt::format("--dataset '{}' needs a file: {}:path=FILE, or --dataset-path", spec.name, spec.name));
}

}  // namespace paretoken::datasets
