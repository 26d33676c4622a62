#pragma once
// The table of the options of other tools that are not synonyms of ours (PlanField::synonyms): those that
// need nothing here, those whose meaning several of our options express, and those that have no counterpart.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace paretoken::cli {

enum class Tool : std::uint8_t {
    vllm,
    sglang,
    guidellm,
    aiperf,
    genai_bench,
    llmperf,
    evalscope,
    inference_benchmarker,
    perf_analyzer,
    inference_perf,
};

struct ToolRow {
    Tool tool;
    std::string_view name;     ///< name in PlanField::synonyms: "vllm"
    std::string_view title;    ///< name for people: "vllm bench serve"
    std::string_view address;  ///< the server that the tool loads if none is given
};
std::span<const ToolRow> tools();
const ToolRow& row_of(Tool tool);

enum class Treatment : std::uint8_t {
    nothing,  ///< the option needs nothing here
    part,     ///< translation.cpp composes our options from it
    absent,   ///< there is no counterpart
};

enum class Values : std::uint8_t { none, one, many };

struct ForeignOption {
    std::string_view names;  ///< the names of the option, with blanks between them
    std::string_view tools;  ///< the tools that have it, as in PlanField::synonyms
    Values values = Values::one;
    Treatment treatment = Treatment::nothing;
    /// For `part`: the name under which the translation finds the value. For `absent`: what is not there, or
    /// what does it, as a sentence without a full stop.
    std::string_view about = {};
    /// Whether the option has this meaning also where no tool is known and we have an option of this name.
    bool always = false;
};
std::span<const ForeignOption> foreign_options();

/// Returns whether a tool has an option of this name that means what ours means.
bool has_our_option(Tool tool, std::string_view name);

/// Returns the option of this name, of `tool` if one is given. Null when there is none.
const ForeignOption* foreign_option(std::string_view name, std::optional<Tool> tool);

/// Returns in Markdown what takes the place of an option here, or that nothing is needed.
std::string_view what_becomes_of(const ForeignOption& option);

bool has_tool(std::string_view tools, Tool tool);

}  // namespace paretoken::cli
