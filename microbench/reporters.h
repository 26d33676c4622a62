#pragma once
// What Google Benchmark's reporters are made to show: our names without the library's suffixes, and a line
// per row with its place in the suite.
#include <cstddef>
#include <memory>
#include <string>

namespace benchmark {
class BenchmarkReporter;
}

namespace paretoken::microbench {

/// Passes everything on to `inner` with "/iterations:1/manual_time" taken off the names. What it writes as
/// JSON gets `devices`, a JSON array, into its context, which the library fills with texts only.
std::unique_ptr<benchmark::BenchmarkReporter> with_plain_names(
    std::unique_ptr<benchmark::BenchmarkReporter> inner, std::string devices);

/// "[ 3/17] name   38.2 GB/s  96 %" as rows finish; `paretoken micro` reads the numbers in brackets.
std::unique_ptr<benchmark::BenchmarkReporter> progress_of(std::size_t rows);

}  // namespace paretoken::microbench
