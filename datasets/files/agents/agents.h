#pragma once
// Generated jobs of agents: rows with lengths and blocks as in a trace, made from distributions. Prompts are
// stated as a whole and do not depend on the server's answers.
#include <cstdint>
#include <memory>

#include "datasets/catalog.h"
#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// "agents:jobs=100,turns=8,fanout=2,subturns=3,prefix=1024,first=500,next=200,osl=128,tool=2s": the number
/// of different jobs; the turns of the main agent; the sub-agents that one of its turns starts and the next
/// one waits for, and the turns of each; the tokens of the prefix that all agents share, of the first message
/// of an agent, of each later one and of each answer; and the time of tools before later turns. All but jobs
/// and prefix may be distributions (Lengths, RandomDuration). A sub-agent begins afresh, with the prefix.
/// Throws UsageError.
RowFormat agents_format(const Spec& spec, std::uint64_t seed);

/// Job i has the lengths of job i modulo `jobs`, and a content of its own.
std::unique_ptr<Dataset> make_agents(const DatasetOptions& options);

}  // namespace paretoken::datasets
