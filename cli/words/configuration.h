#pragma once
// The options that configuration files of other tools stand for. The functions are pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/groups.h"

namespace paretoken::cli {

struct Configured {
    std::vector<std::string> words = {};     ///< options of the tool
    std::vector<std::string> left_out = {};  ///< fields without a counterpart
};

/// Returns the options of AIPerf's configuration file, whose fields are `file`.
Configured aiperf_configuration(const Group& file);

/// Returns the options of a configuration file (JSON) of GuideLLM, in either of its forms.
Configured guidellm_configuration(const std::string& json);

/// Returns the options of one of GuideLLM's own configurations, "chat" or "rag"; nothing for another name.
std::optional<Configured> guidellm_scenario(std::string_view name);

/// Returns the options of a configuration file (as JSON) of vLLM, whose keys are the names of options.
Configured vllm_configuration(const std::string& json);

}  // namespace paretoken::cli
