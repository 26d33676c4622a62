#pragma once
// THE table of datasets: a name and what makes it. A new dataset is a file and a row.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/spec.h"
#include "datasets/dataset.h"
#include "datasets/generated/calibration.h"

namespace paretoken::datasets {

class Prose;
struct RowFormat;

enum class PromptForm { text, token_ids };
std::string_view name_of(PromptForm form);

struct DatasetOptions {
    Spec spec = {};  ///< which one, and its fields: {"synthetic", {{"isl", "512"}, {"osl", "128"}}}
    std::uint64_t seed = 0;
    std::string salt = {};  ///< changes every prompt and no length
    PromptForm form = PromptForm::text;
    std::optional<Calibration> calibration = {};   ///< of texts; nothing: uncalibrated()
    std::optional<std::uint32_t> vocabulary = {};  ///< token ids: how many the model has, where known
    std::string path = {};                    ///< of a dataset that is a file; else the spec's field "path"
    std::shared_ptr<const Prose> prose = {};  ///< made-up texts are cut from it; null: random words
    bool salt_prompts = false;                ///< prompts of a file begin with a few words of the salt
    bool live_replies = true;  ///< conversations go on from the server's answers, not from recorded ones
};

/// The same with prompts of another form.
DatasetOptions in_form(DatasetOptions options, PromptForm form);

struct CatalogRow {
    std::string_view name;
    std::string_view title;
    std::string_view fields;  ///< for --help: "isl=512,osl=128"
    std::unique_ptr<Dataset> (*make)(const DatasetOptions&);
    /// Of a dataset that is a file: how its rows are read (file_dataset.h).
    RowFormat (*format)(const Spec& spec) = nullptr;
    bool makes_prompts = true;   ///< prompts of a wanted length are made up, from a calibration
    bool conversations = false;  ///< may have several turns
};
std::span<const CatalogRow> catalog();

/// Throws UsageError on an unknown name (naming the known ones) or field, RuntimeError when a file cannot be
/// read.
std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options);

/// Whether prompts of a wanted length are made up. Throws UsageError on an unknown name.
bool makes_prompts(const Spec& spec);

/// Whether there may be several turns. Throws UsageError on an unknown name.
bool has_conversations(const Spec& spec);

/// How the rows of a dataset that is a file are read. Throws UsageError when it is none, or unknown.
RowFormat row_format_of(const Spec& spec);

/// The file of a dataset that is one: `path`, else the spec's field "path"; empty for the others.
std::string file_of(const Spec& spec, const std::string& path);

}  // namespace paretoken::datasets
