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
    CatalogRow{"custom", "Prompts from a file of JSON lines", "path=FILE,osl=128", make_custom_jsonl},
};

}  // namespace

std::string_view name_of(PromptForm form) {
    return form == PromptForm::text ? "text" : "token ids";
}

std::span<const CatalogRow> catalog() {
    return kCatalog;
}

std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options) {
    std::string known;
    for (const CatalogRow& row : kCatalog) {
        if (row.name == options.spec.name) return row.make(options);
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    throw UsageError(fmt::format("'{}' is not a dataset; known are {}", options.spec.name, known));
}

}  // namespace paretoken::datasets
