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
};

/// All formats, in the order in which they are tried.
const std::vector<ForeignFormat>& foreign_formats();

/// The runs in a file of this format, whose requests are checked: times that contradict each other, or that
/// are more than 31 days after the start of the run, are a UsageError that names the file and the request.
std::vector<ForeignRun> foreign_runs_in(const ForeignFormat& format, const std::filesystem::path& file);

/// The format of a file; null if it is none of foreign_formats(), or no file.
const ForeignFormat* foreign_format_of(const std::filesystem::path& file);

/// The foreign files at `path`: the file itself, or those below a directory, sorted.
std::vector<std::filesystem::path> foreign_files(const std::filesystem::path& path);

/// Options of an import that add to what the files say.
struct ImportOptions {
    std::string hardware = {};         ///< hardware that served: a name of a GPU card
    std::uint32_t hardware_count = 1;  ///< number of GPUs
    std::map<std::string, std::string> metadata = {};
};

/// Writes the records of a run, and its result, into a run directory. Throws RuntimeError when it cannot be
/// written, and UsageError as ForeignRun::for_each_request does.
void write_foreign_run(const ForeignRun& run, const std::filesystem::path& directory,
                       const ImportOptions& options = {});

/// Writes every run of the foreign files at `path` below `directory`, a single one into it, and returns the
/// directories. Throws a UsageError when there is no such file.
std::vector<std::filesystem::path> import_runs(const std::filesystem::path& path,
                                               const std::filesystem::path& directory,
                                               const ImportOptions& options = {});

}  // namespace paretoken::reports
