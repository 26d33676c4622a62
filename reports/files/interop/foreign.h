#pragma once
// Reads the result files of other load generators as run directories. What a file does not tell is an unknown
// fact of the run (core/record/fact.h). A new format is a file in readers/ and a row in foreign.cpp.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/run/begun.h"

namespace paretoken::reports {

struct ForeignRun {
    std::string
        name;  ///< name of the run beside others of its file: "concurrency_8"; empty if it is the only one
    Begun begun = {};
    bool interrupted = false;  ///< whether the program was stopped before its end
    /// Calls its argument with every request and its events. Times are counted from TimePoint{}, which is the
    /// start of the run. Throws a UsageError that names the file and the place of what is malformed.
    std::function<void(const std::function<void(RequestRecord&&)>&)> for_each_request = {};
};

struct ForeignFormat {
    std::string_view name;  ///< "vllm-bench"
    std::string_view tool;  ///< "vLLM bench serve"
    /// Whether a file that begins with `text` (at least 64 KiB, or the whole file) has this format.
    bool (*recognises)(std::string_view text);
    /// The runs in a file. Throws a UsageError that says what is malformed or missing.
    std::vector<ForeignRun> (*runs_in)(const std::filesystem::path& file);
    /// Whether a file only repeats what another one in its directory holds; null if none of this format does.
    bool (*repeats_others)(const std::filesystem::path& file) = nullptr;
};

/// All formats, in the order in which they are tried.
const std::vector<ForeignFormat>& foreign_formats();

/// The runs in a file of this format, whose requests are checked: times that contradict each other, or that
/// are more than 31 days after the start of the run, are a UsageError that names the file and the request.
std::vector<ForeignRun> foreign_runs_in(const ForeignFormat& format, const std::filesystem::path& file);

/// The format of a file; null if it is none of foreign_formats(), or no file.
const ForeignFormat* foreign_format_of(const std::filesystem::path& file);

/// The foreign files at `path`, or below a directory, sorted, without those that repeat others.
std::vector<std::filesystem::path> foreign_files(const std::filesystem::path& path);

/// Options of an import that add to what the files say.
struct ImportOptions {
    std::string hardware = {};         ///< hardware that served: a name of a GPU card
    std::uint32_t hardware_count = 1;  ///< number of GPUs
    std::map<std::string, std::string> metadata = {};
    std::string shown = {};  ///< name that stands for `directory` in messages and pages; empty: its own
};

/// Writes the records of a run, and its result, into a run directory. Throws RuntimeError when it cannot be
/// written, and UsageError as ForeignRun::for_each_request does.
void write_foreign_run(const ForeignRun& run, const std::filesystem::path& directory,
                       const ImportOptions& options = {});

/// Writes every run of the foreign files at `paths` below `directory`, a single one into it, and returns
/// their directories, which have different names. If it fails, nothing is left. Throws a UsageError when one
/// of `paths` has no such file, or when `directory` exists and is not empty.
std::vector<std::filesystem::path> import_runs(const std::vector<std::filesystem::path>& paths,
                                               const std::filesystem::path& directory,
                                               const ImportOptions& options = {});
std::vector<std::filesystem::path> import_runs(const std::filesystem::path& path,
                                               const std::filesystem::path& directory,
                                               const ImportOptions& options = {});

}  // namespace paretoken::reports
