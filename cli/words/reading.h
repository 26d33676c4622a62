#pragma once
// What translations of single options (translation.cpp) and of whole lines (whole_lines.cpp) share.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/composition.h"
#include "cli/words/translation.h"

namespace paretoken::cli {

bool is_option(std::string_view word);
/// Returns whether all characters are digits, and there is one.
bool is_whole_number(std::string_view word);
/// Returns whether an address has a scheme, or is that of the simulated server.
bool names_server(std::string_view word);
/// Returns the message for an option that has no value because another option or the end (empty) follows.
std::string missing_value(const std::string& option, const std::string& next);
/// Returns the name of an option with "-" for "_", which the other tools take for each other.
std::string name_in(const std::string& word);
/// Returns the value that stands behind "=" in word `i`, or the next word; empty if there is none.
std::string value_after(const std::vector<std::string>& words, std::size_t i);

/// Translates words that come from `origin`; `own` are the options of our command.
Translation composed(const std::vector<std::string>& words, Origin origin, std::string_view command,
                     const OwnOptions& own);
/// Composes our command line from parts. `out` has notes on their reading and `kept` the unchanged words.
Translation composed(Parts parts, const Origin& origin, Translation out, const Texts& kept = {});

/// Notes how one sweep measures all levels of the loops around a translated command, or that the command
/// stays inside them. It is the one at `place` of `commands`.
void note_loops(const std::vector<std::vector<std::string>>& commands, std::size_t place,
                Translation& translation);

/// Translates `vllm bench sweep serve`, `serve_workload` and `serve_sla`, which start servers and measure
/// each. Behind "--serve-params-content" and "--bench-params-content" stand the contents of their files.
Translation translated_sweep(const std::vector<std::string>& words);

/// Translates the options of inference-perf, "--load.stages JSON".
Translation translated_inference_perf(const std::vector<std::string>& words);

}  // namespace paretoken::cli
