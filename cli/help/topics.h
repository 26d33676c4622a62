#pragma once
// The topics that `paretoken help TOPIC` explains, made from the tables of core, datasets and loadgen.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paretoken::cli {

struct Topic {
    std::string_view name;
    std::string_view title;
    std::string (*text)(std::size_t width);  ///< broken to `width` columns
};
std::span<const Topic> topics();

std::optional<std::string> topic_text(std::string_view name, std::size_t width);

/// Returns the fields of a dataset ("mooncake"), and the first rows of its file. Nothing if there is none of
/// this name.
std::optional<std::string> dataset_text(std::string_view name, std::size_t width);

/// Returns what a check of the validity ("instrument") means, and what to do. Nothing if there is no check of
/// this name.
std::optional<std::string> check_text(std::string_view check, std::size_t width);

}  // namespace paretoken::cli
