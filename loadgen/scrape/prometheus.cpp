#include "loadgen/scrape/prometheus.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace paretoken::scrape {
namespace {

constexpr std::string_view kTotal = "_total";

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

/// Removes the front of `text` up to the first of `ends`, and returns it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::string_view taken = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(taken.size());
    return taken;
}

bool take(std::string_view& text, char expected) {
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(1);
    return true;
}

/// Reads a quoted text with the escapes \\, \" and \n.
std::optional<std::string> take_quoted(std::string_view& text) {
    if (!take(text, '"')) return std::nullopt;
    std::string value;
    while (!text.empty() && text.front() != '"') {
        if (text.front() == '\\' && text.size() > 1) {
            text.remove_prefix(1);
            value += text.front() == 'n' ? '\n' : text.front();
        } else {
            value += text.front();
        }
        text.remove_prefix(1);
    }
    if (!take(text, '"')) return std::nullopt;
    return value;
}

std::optional<Labels> take_labels(std::string_view& text) {
    Labels labels;
    while (true) {
        skip_blanks(text);
        if (take(text, '}')) return labels;
        std::string_view key = take_until(text, "=");
        while (!key.empty() && is_blank(key.back())) key.remove_suffix(1);
        if (key.empty() || !take(text, '=')) return std::nullopt;
        skip_blanks(text);
        auto value = take_quoted(text);
        if (!value) return std::nullopt;
        labels.emplace_back(key, std::move(*value));
        skip_blanks(text);
        take(text, ',');
    }
}

std::optional<double> number_of(std::string_view text) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    if (text == "-Inf") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Reads a line of the form: name{labels} value [timestamp] [# exemplar]
std::optional<Sample> sample_of(std::string_view line) {
    Sample sample;
    sample.name = take_until(line, "{ \t");
    if (sample.name.empty()) return std::nullopt;
    skip_blanks(line);
    if (take(line, '{')) {
        auto labels = take_labels(line);
        if (!labels) return std::nullopt;
        sample.labels = std::move(*labels);
    }
    skip_blanks(line);
    const auto value = number_of(take_until(line, " \t\r"));
    if (!value) return std::nullopt;
    sample.value = *value;
    return sample;
}

bool includes(const Sample& sample, const Labels& where) {
    return std::ranges::all_of(
        where, [&](const auto& wanted) { return sample.label(wanted.first) == wanted.second; });
}

}  // namespace

std::string_view Sample::label(std::string_view key) const {
    for (const auto& pair : labels) {
        if (pair.first == key) return pair.second;
    }
    return {};
}

Scrape parse_prometheus(std::string_view text) {
    Scrape scrape;
    while (!text.empty()) {
        std::string_view line = take_until(text, "\n");
        take(text, '\n');
        skip_blanks(line);
        if (line.empty() || line.front() == '#') continue;
        if (auto sample = sample_of(line)) {
            scrape.samples.push_back(std::move(*sample));
        } else {
            ++scrape.bad_lines;
        }
    }
    return scrape;
}

std::optional<double> sum_of(std::span<const Sample> samples, std::string_view name, const Labels& where) {
    std::optional<double> sum;
    for (const Sample& sample : samples) {
        if (sample.name == name && includes(sample, where)) sum = sum.value_or(0) + sample.value;
    }
    return sum;
}

std::optional<std::string> name_among(std::span<const Sample> samples,
                                      std::span<const std::string_view> names) {
    const auto without_total = [](std::string_view name) {
        if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
        return name;
    };
    for (const std::string_view name : names) {
        const Sample* near = nullptr;
        for (const Sample& sample : samples) {
            if (sample.name == name) return sample.name;
            if (!near && without_total(sample.name) == without_total(name)) near = &sample;
        }
        if (near) return near->name;
    }
    return std::nullopt;
}

}  // namespace paretoken::scrape
