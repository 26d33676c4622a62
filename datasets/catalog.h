#pragma once
// The table of all datasets. A new dataset needs a source file with the function that makes it, and a row.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/spec.h"
#include "datasets/dataset.h"
#include "datasets/synthetic/calibration.h"

namespace paretoken::datasets {

class Prose;
struct RowFormat;

enum class PromptForm { text, token_ids };
std::string_view name_of(PromptForm form);

struct DatasetOptions {
    Spec spec = {};  ///< name and fields: {"synthetic", {{"isl", "512"}, {"osl", "128"}}}
    std::uint64_t seed = 0;
    std::string salt = {};  ///< text that changes the content of every generated prompt, but no length
    PromptForm form = PromptForm::text;
    std::optional<Calibration> calibration = {};   ///< tokens of each word; absent means one token per word
    std::optional<std::uint32_t> vocabulary = {};  ///< the model's number of token ids, if known
    std::string path = {};  ///< the dataset's file; empty means the spec's field "path"
    std::shared_ptr<const Prose> prose =
        {};                     ///< text that prompts are cut from; null means that prompts are random words
    bool salt_prompts = false;  ///< whether prompts of a file begin with a few words of the salt
    /// Whether outlines must have the content of made-up prompts (Dataset::outline()), and not only lengths.
    bool outline_content = true;
    bool live_replies = true;  ///< whether follow-ups continue from the server's answers, not recorded ones
};

DatasetOptions in_form(DatasetOptions options, PromptForm form);

struct CatalogRow {
    std::string_view name;
    std::string_view title;
    std::string_view fields;  ///< for --help: "isl=512,osl=128"
    std::unique_ptr<Dataset> (*make)(const DatasetOptions&);
    /// Returns how rows are read (file_dataset.h), for a dataset that is a file; null for the others.
    RowFormat (*format)(const Spec& spec) = nullptr;
    /// Returns how rows are made, for generated jobs (file_dataset.h); null for the others.
    RowFormat (*generated)(const Spec& spec, std::uint64_t seed) = nullptr;
    bool makes_prompts = true;   ///< whether prompts of a wanted length are generated, from a calibration
    bool conversations = false;  ///< whether conversations may have several turns
    /// The source of lengths, in words, of a dataset that does not take --isl ("the texts in its file").
    std::string_view prompt_lengths = {};
    /// The replies with which conversations continue unless others are asked for; empty means live ones.
    std::string_view replies = {};
    /// The first lines of a file that is read, for help; empty for a dataset that is not a file.
    std::string_view example = {};
};
std::span<const CatalogRow> catalog();

/// Returns the names of the datasets that are files: "custom, sharegpt, …".
std::string names_of_file_formats();

/// Makes the dataset that `options.spec` names. Throws UsageError on an unknown name (naming the known ones),
/// an unknown field, a wrong value, or wrong content of a file, or one that cannot be read.
std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options);

/// Returns whether prompts of a wanted length are generated. Throws UsageError on an unknown name.
bool makes_prompts(const Spec& spec);

/// Returns whether conversations may have several turns. Throws UsageError on an unknown name.
bool has_conversations(const Spec& spec);

/// Returns CatalogRow::replies. Throws UsageError on an unknown name.
std::string_view usual_replies(const Spec& spec);

/// Returns how rows are read. Throws UsageError when the dataset is not a file, or unknown.
RowFormat row_format_of(const Spec& spec);

/// Returns how the rows of generated jobs are made; nothing if the name is not that of such a dataset.
std::optional<RowFormat> generated_format(const Spec& spec, std::uint64_t seed);

/// Returns the dataset's file: `path`, or else the spec's field "path"; empty if the dataset is not a file.
/// Throws UsageError when a dataset that is a file has neither, or on an unknown name.
std::string file_of(const Spec& spec, const std::string& path);

}  // namespace paretoken::datasets
