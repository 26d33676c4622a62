#include "datasets/catalog.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "datasets/custom_jsonl.h"
#include "datasets/synthetic.h"

namespace paretoken::datasets {
namespace {

constexpr std::array kCatalog = {
    CatalogRow{"synthetic", "Random prompts of a wanted length", "isl=512,osl=128,ratio=0", make_synthetic},
    CatalogRow{"custom", "Prompts from a file of JSON lines", "path=FILE,osl=128", make_custom_jsonl, true},
};

const CatalogRow& row_of(const std::string& name) {
    std::string known;
    for (const CatalogRow& row : kCatalog) {
        if (row.name == name) return row;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    throw UsageError(fmt::format("'{}' is not a dataset; known are {}", name, known));
}

}  // namespace

std::string_view name_of(PromptForm form) {
    return form == PromptForm::text ? "text" : "token ids";
}

std::span<const CatalogRow> catalog() {
    return kCatalog;
}

std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options) {
    return row_of(options.spec.name).make(options);
}

std::string file_of(const Spec& spec, const std::string& path) {
    const CatalogRow& row = row_of(spec.name);
    const auto field = spec.fields.find("path");
    if (!row.is_file) return {};
    if (!path.empty()) return path;
    if (field != spec.fields.end() && !field->second.empty()) return field->second;
    throw UsageError(
        fmt::format("dataset '{}' needs a file: {}:path=FILE, or --dataset-path", spec.name, spec.name));
}

}  // namespace paretoken::datasets
