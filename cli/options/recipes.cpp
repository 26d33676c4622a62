#include "cli/options/recipes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "core/error.h"
#include "core/nearest.h"

namespace paretoken::cli {

std::span<const Recipe> recipes() {
    static const std::vector<Recipe> table = {
        {"prefill-heavy",
         "long prompts, short answers",
         "The time to first token is nearly all of the work: compare its p95 with a run of the same prompts "
         "at concurrency 1.",
         {{"isl", "uniform:min=3600;max=4400"},
          {"osl", "uniform:min=45;max=55"},
          {"num_prompts", "100"},
          {"concurrency", "8"}}},
        {"decode-heavy",
         "short prompts, long answers",
         "The inter-token latency and the output tokens per second are what matters; the prompts hardly "
         "count.",
         {{"isl", "uniform:min=45;max=55"},
          {"osl", "uniform:min=450;max=550"},
          {"num_prompts", "100"},
          {"concurrency", "8"}}},
        {"system-prompt",
         "one system prompt of 1,000 tokens before 50 questions, one after the other",
         "The first request reads the system prompt, and the others should find it in the prefix cache: "
         "compare the longest time to first token with the median.",
         {{"dataset", "shared_prefix:groups=1,levels=1000,unique=100,osl=64"},
          {"num_prompts", "50"},
          {"concurrency", "1"}}},
        {"rag",
         "prompts that share their first 2,000 tokens and have 3,000 tokens of their own",
         "At most 40 % of the prompt tokens can come from the cache: compare the cached share with that.",
         {{"dataset", "shared_prefix:groups=1,levels=2000,unique=3000,osl=uniform:min=230;max=282"},
          {"num_prompts", "100"},
          {"concurrency", "4"}}},
        {"chat",
         "conversations of four turns, with pauses in which the user thinks",
         "Each turn repeats the conversation so far: the share of its prompt tokens that were cached says "
         "whether the server still had it.",
         {{"dataset", "multi_turn:turns=4,first=500,next=100,osl=128"},
          {"num_prompts", "200"},
          {"concurrency", "16"},
          {"think_time", "exponential:mean=2s"}}},
        {"spike",
         "2 requests per second, then 8 for 30 seconds, then 2 again",
         "The time to first token during the spike, and the time until it is normal again, show how much "
         "more load the server can take; the report draws the time to first token over time.",
         {{"arrivals", "steps:rates=2;8;2,each=30s"},
          {"isl", "uniform:min=900;max=1100"},
          {"osl", "uniform:min=180;max=220"},
          {"duration", "90s"}}},
        {"users-20",
         "20 users, of whom 5 start in each second, for two minutes",
         "Each user sends the next request when the answer is complete, so that the rate depends on the "
         "server.",
         {{"concurrency", "20"},
          {"ramp_up", "4s"},
          {"duration", "2m"},
          {"isl", "uniform:min=461;max=563"},
          {"osl", "uniform:min=115;max=141"}}},
        {"long-prefill",
         "a prompt of 32,000 tokens every ten seconds, among 8 streams that decode",
         "While a long prompt is read, the streams of the class `decode` wait: their `stall` says for how "
         "long. Smaller chunks of prefill shorten it and raise the time to first token of the class `long`.",
         {{"class", "decode:concurrency=8,isl=128,osl=512,ratio=.1"},
          {"class", "long:rate=.1,isl=32k,osl=16"},
          {"duration", "2m"}}},
        {"agentx",
         "InferenceX's AgentX on a trace in Weka's form: an hour of 16 live jobs that begin inside",
         "The lines `jobs` and `interact.` have the job times and the E2E-normalized interactivity, and the "
         "line `rules` says whether the benchmark's rules were kept.",
         {{"duration", "3600s"},
          {"seed", "42"},
          {"concurrency", "16"},
          {"ramp_up", "0s"},
          {"start_inside", "0.25..0.75+10"},
          {"idle_job_cap", "300s"},
          {"idle_system_cap", "10s"},
          {"max_failed", "10%"},
          {"rules", "agentx"}},
         "traces of jobs in Weka's form"},
        {"mlperf-agentic",
         "MLPerf Endpoints' agentic rows, each trajectory once, 16 at a time",
         "The line `interact.` has the E2E interactivity to compare with the output tokens per second, and "
         "the line `rules` says whether the benchmark's rules were kept.",
         {{"num_prompts", "all"},
          {"concurrency", "16"},
          {"ramp_up", "0s"},
          {"ignore_eos", "false"},
          {"salt_prompts", "true"},
          {"rules", "mlperf-agentic"}},
         "MLPerf's agentic rows"},
    };
    return table;
}

const Recipe& recipe_named(std::string_view name) {
    std::vector<std::string> known;
    for (const Recipe& recipe : recipes()) {
        if (recipe.name == name) return recipe;
        known.emplace_back(recipe.name);
    }
    const std::string meant = nearest(name, known);
    throw UsageError(fmt::format("--recipe: '{}' is not a recipe{}; known are {}", name,
                                 meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant),
                                 fmt::join(known, ", ")));
}

PlanTexts texts_of(const Recipe& recipe) {
    PlanTexts texts;
    for (const auto& [name, value] : recipe.options) texts[std::string(name)].emplace_back(value);
    return texts;
}

}  // namespace paretoken::cli
