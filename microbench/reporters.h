#pragma once
// Reporters for Google Benchmark that show our names, and a line per row with its position in the suite.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace benchmark {
class BenchmarkReporter;
}

namespace paretoken::microbench {

/// Forwards everything to `inner` without "/iterations:1/manual_time" in the names. It adds `devices`, a JSON
/// array, to the context of the JSON output, which the library fills with texts only.
std::unique_ptr<benchmark::BenchmarkReporter> with_plain_names(
    std::unique_ptr<benchmark::BenchmarkReporter> inner, std::string devices);

/// Prints "[ 3/17] name   38.2 GB/s   96.0 %" when a row finishes; `rows` is the number of all rows.
/// `paretoken micro` reads the numbers in brackets.
std::unique_ptr<benchmark::BenchmarkReporter> progress_of(std::size_t rows);

/// Returns the error with which a row ended, if it did. Google Benchmark 1.8 renamed the members of its run
/// (`Run`, a benchmark::BenchmarkReporter::Run).
template <typename Run>
std::optional<std::string> error_of(const Run& run) {
    if constexpr (requires { run.error_occurred; }) {
        if (run.error_occurred) return run.error_message;
    } else {
        if (run.skipped != decltype(run.skipped){}) return run.skip_message;
    }
    return std::nullopt;
}

}  // namespace paretoken::microbench
