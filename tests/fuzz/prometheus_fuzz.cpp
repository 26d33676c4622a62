// The text of /metrics: samples that are written again are read unchanged, and percentiles of any histogram
// are numbers.
#include "loadgen/scrape/prometheus.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        text += c == '\n' ? "\\n" : std::string(1, c);
    }
    return text;
}

std::string text_of(const scrape::Sample& sample) {
    std::string text = sample.name + " {";
    for (const auto& [key, value] : sample.labels) text += fmt::format("{}=\"{}\",", key, escaped(value));
    const std::string value = std::isnan(sample.value)   ? "NaN"
                              : std::isinf(sample.value) ? sample.value < 0 ? "-Inf" : "+Inf"
                                                         : fmt::format("{}", sample.value);
    return text + "} " + value + "\n";
}

bool has_each_label_once(const scrape::Sample& sample) {
    return std::all_of(sample.labels.begin(), sample.labels.end(),
                       [&](const auto& label) { return sample.label(label.first) == label.second; });
}

bool same(const scrape::Sample& a, const scrape::Sample& b) {
    return a.name == b.name && a.labels == b.labels &&
           (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
}

}  // namespace

void fuzz(Input input) {
    const scrape::Scrape scrape = scrape::parse_prometheus(input.rest());
    std::string text;
    for (const scrape::Sample& sample : scrape.samples) {
        require(!sample.name.empty(), "a sample has a name");
        text += text_of(sample);
    }
    const scrape::Scrape again = scrape::parse_prometheus(text);
    require(again.bad_lines == 0 && std::equal(again.samples.begin(), again.samples.end(),
                                               scrape.samples.begin(), scrape.samples.end(), same),
            "samples written down are read as they were");
    for (const scrape::Sample& sample : scrape.samples) {
        if (has_each_label_once(sample)) {
            require(scrape::sum_of(scrape.samples, sample.name, sample.labels).has_value(),
                    "a sample counts in its own sum");
        }
    }
}

}  // namespace paretoken::fuzz
