#pragma once
// The parts that the protocols chat and completions share: the optional fields of requests, and the reading
// of answers, whose output is in "choices". The fields are in the order in which the probe
// (loadgen/probe) leaves them out when a server refuses a request and names none of them.
#include <array>

#include "loadgen/protocol/body.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {

inline constexpr std::array kChoicesFields = {
    OptionalField{.name = "return_token_ids",
                  .flag = &BodyOptions::return_token_ids,
                  .fields = R"({"return_token_ids":true})"},
    OptionalField{.name = "continuous_usage_stats",
                  .flag = &BodyOptions::continuous_usage,
                  .fields = R"({"stream_options":{"include_usage":true,"continuous_usage_stats":true}})",
                  .only_with_stream = true},
    OptionalField{.name = "ignore_eos", .flag = &BodyOptions::ignore_eos, .fields = R"({"ignore_eos":true})"},
    OptionalField{.name = "stream_options",
                  .flag = &BodyOptions::include_usage,
                  .fields = R"({"stream_options":{"include_usage":true}})",
                  .only_with_stream = true},
};

extern const EventFormat kChoices;

}  // namespace paretoken::protocol
