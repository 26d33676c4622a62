#pragma once
// An endpoint as it is asked for, and what is known of it once it was asked.
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "datasets/catalog.h"
#include "datasets/synthetic/calibration.h"
#include "loadgen/http/address.h"
#include "loadgen/http/message.h"
#include "loadgen/http/url.h"
#include "loadgen/protocol/body.h"

namespace paretoken::http {
class TlsContext;
}

namespace paretoken::loadgen {

struct EndpointOptions {
    http::Url url;
    std::string path;       ///< path of requests; empty means the endpoint type's own
    http::Headers headers;  ///< additional headers, including authorisation
    /// Null for plain HTTP. Must exist as long as the options are used.
    const http::TlsContext* tls = nullptr;
    protocol::BodyOptions body;  ///< wanted options; empty `model`: the first that the server lists
    bool calibrate = true;       ///< whether to find out how many tokens our words make
    std::string prose = {};      ///< a piece of the prose that prompts are cut from; empty means no prose
    bool token_ids = true;       ///< whether prompts are token ids if the server accepts them
    Duration timeout = std::chrono::minutes(10);  ///< for one answer; a GET has at most 10 s
    std::stop_token stop = {};                    ///< ends the probe with a RuntimeError
    /// Called with a sentence when an answer takes longer than 2 s, or the server is busy.
    std::function<void(const std::string&)> on_wait = {};
    std::string proxy_variable = {};  ///< name of a proxy variable that is set but not used; empty means none
};

struct EndpointFacts {
    http::Address address;
    std::string path = {};  ///< path of requests, which the options must then have; empty: as in the options
    bool local = false;     ///< whether it is a loopback address
    protocol::BodyOptions body;        ///< options with the model set and refused options off
    std::vector<std::string> refused;  ///< options that the server refuses or the protocol lacks
    std::vector<std::string> notes =
        {};                   ///< sentences for the user about how requests differ from those asked for
    std::string server_kind;  ///< "vllm", "llama.cpp", "paretoken-sim", … or empty
    std::optional<std::int64_t> context;     ///< largest number of tokens of prompt and answer together
    std::optional<std::int64_t> slots = {};  ///< of llama.cpp; each serves one request and keeps its KV cache
    std::map<std::string, std::string> server_config = {};  ///< the server's settings, without secrets
    std::int64_t fewest_output_tokens = 2;  ///< output tokens that the probe's requests ask for
    datasets::PromptForm prompt_form = datasets::PromptForm::text;
    /// The tokens that words of prompts have. Absent for token ids, without `calibrate`, or usable counts.
    std::optional<datasets::Calibration> calibration;
    /// The cached prompt tokens that the server reported for a request which has only the chat template in
    /// common with an earlier request. probe() leaves it empty; a caller may measure it with try_one().
    std::optional<double> cached_by_template = {};
    std::string simulator_profile;  ///< name of a simulated server's profile; empty for a real server
    /// The quantities of that profile that determine its hardware limit, by name.
    std::map<std::string, double> simulator_terms;
};

/// Returns the path of generation requests: that of the options with a leading slash, or the endpoint type's.
std::string target_of(const EndpointOptions& options);

}  // namespace paretoken::loadgen
