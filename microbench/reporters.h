#pragma once
// What Google Benchmark's reporters are made to show: our names without the library's suffixes, a line per
// row with its place in the suite, and a count of the rows that failed.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>

namespace paretoken::microbench {

/// Passes everything on to `inner` with "/iterations:1/manual_time" taken off the names.
class PlainNames final : public benchmark::BenchmarkReporter {
  public:
    explicit PlainNames(std::unique_ptr<benchmark::BenchmarkReporter> inner) : inner_(std::move(inner)) {}
    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override { inner_->Finalize(); }

  private:
    std::unique_ptr<benchmark::BenchmarkReporter> inner_;
};

/// "[ 3/17] name   38.2 GB/s  96 %" as rows finish; `paretoken micro` reads the numbers in brackets.
class Progress final : public benchmark::BenchmarkReporter {
  public:
    explicit Progress(std::size_t rows) : rows_(rows) {}
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override;

  private:
    std::size_t rows_;
    std::size_t done_ = 0;
};

}  // namespace paretoken::microbench
