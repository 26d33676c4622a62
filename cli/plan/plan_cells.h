#pragma once
// The cells of `paretoken plan`: which combinations of GPUs, formats and ranks are looked at, and what fits
// in each. It reads the cards of models, GPUs and prices, and simulates nothing.
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/plan/plan.h"

namespace paretoken::cli {

/// The options of `paretoken plan` that decide the cells, as the user gave them.
struct CellOptions {
    std::string model_card = {};
    std::string model = {};                 ///< what servers load; empty: by the card
    std::vector<std::string> gpus = {};     ///< names with or without a count, or "all"
    std::string gpu_memory = {};            ///< size of a GPU without a card
    std::vector<std::string> weights = {};  ///< empty: as the card says
    std::vector<std::string> kv = {};       ///< "auto" or a format
    std::vector<std::uint32_t> tp = {};     ///< empty: by the count of the GPU, else 1, 2, 4 and 8
    std::vector<std::uint32_t> pp = {};     ///< empty: 1
    std::vector<std::uint32_t> ep = {};     ///< empty: 1
    std::uint32_t dcp = 1;
    bool attention_dp = false;
    std::string engine = "vllm";
    std::optional<double> memory_fraction = {};
    std::string weights_memory = {};
    std::string overhead = {};
    std::string headroom = {};
    std::string link = {};
    std::optional<std::uint64_t> max_num_seqs = {};
    std::optional<std::uint64_t> max_num_batched_tokens = {};
    std::optional<std::uint64_t> max_model_len = {};
    std::string sampler = "torch";  ///< of vLLM
    std::string lora = {};          ///< "4:16": four adapters of rank 16
    std::string draft_model = {};   ///< card of a model that drafts tokens
    std::optional<std::uint64_t> draft_tokens = {};
    std::optional<double> acceptance = {};
    std::string kv_offload = {};  ///< size of the host's memory for the KV cache
    std::string kv_offload_speed = "25GB/s";
    std::optional<std::uint64_t> gpu_layers = {};
    std::string host_speed = "50GB/s";  ///< at which the host's memory is read
};

/// The plan with its cells, without speeds and bills. Throws UsageError naming the option and what is wrong.
reports::DeploymentPlan planned_cells(const CellOptions& options, const reports::PlannedLengths& lengths);

}  // namespace paretoken::cli
