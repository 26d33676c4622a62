#pragma once
// What foreign files tell of the load and the server, in the words of this program.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/fact.h"
#include "reports/files/interop/foreign.h"

namespace paretoken::reports {

struct ForeignLoad {
    std::string tool = {};  ///< program that measured, with its version if the file names it: "AIPerf 0.13.0"
    std::string model = {};
    std::string url = {};
    std::string server_kind = {};
    std::string endpoint = {};
    std::string started_at = {};                   ///< UTC, "2026-11-21T08:03:25Z"; empty if unknown
    std::optional<std::int64_t> concurrency = {};  ///< most requests in flight, above 0
    std::optional<double> request_rate = {};       ///< requests/s of an open loop, above 0
    std::optional<double> burstiness = {};
    /// The arrival process of an open loop, as in --arrivals: "constant:rate=2"; empty if it is not known.
    std::string arrivals = {};
    bool stationary = true;            ///< whether the rate is the same throughout
    bool interrupted = false;          ///< whether the program was stopped before its end
    bool all_at_once = false;          ///< whether the file tells that there is neither a cap nor a rate
    std::string length_source = {};    ///< who counted tokens: "usage"; empty if the file does not tell
    std::uint64_t requests = 0;        ///< number that was asked for; 0 if unknown
    std::string hardware = {};         ///< name of a GPU, as the file has it: "4xNVIDIA_L40S"
    std::uint32_t hardware_count = 1;  ///< number of GPUs, unless `hardware` begins with one
    std::map<std::string, std::string> metadata = {};  ///< settings of the server that the file tells
};

/// The value of a setting without what is secret in it (core/text/command_secrets.h).
std::string without_secrets(std::string_view name, std::string_view value);

/// The texts, whole numbers and truth values of an object, as text, under keys that are not among the words
/// of `known`, which begins and ends with a blank. Long ones and fractions, which are figures, are left out,
/// and secrets are hidden.
std::map<std::string, std::string> other_values_in(const nlohmann::json& object, std::string_view known);

/// Leaves out a cap and a rate that are not above 0, which programs write for "none".
ForeignLoad with_real_limits(ForeignLoad load);

/// What is known when the run begins. The fingerprint names the tool, because clients count differently.
Begun begun_of(const ForeignLoad& load, std::initializer_list<Fact> unknown);

/// "concurrency_8", "rate_2.5", or "run" if neither is known.
std::string load_name(const ForeignLoad& load);

/// Appends "-2", "-3", … to names that occur more than once.
void number_equal_names(std::vector<ForeignRun>& runs);

/// Calls `visit` with every JSON object of a text that holds one, or several one after the other, and with
/// the place for messages: "result.json", or "result.json, object 2".
void for_each_foreign_object(std::string text, const std::string& where,
                             const std::function<void(nlohmann::json, const std::string&)>& visit);

/// Calls `visit` with the JSON of every line that is not blank, and with its place for messages:
/// "events.jsonl:7". It holds one line at a time.
void for_each_foreign_line(const std::filesystem::path& file,
                           const std::function<void(const nlohmann::json&, const std::string&)>& visit);

/// The UTC time of a Unix time in seconds: "2026-11-21T08:03:25Z".
std::string utc_of_epoch(double seconds);

/// The UTC time of an ISO 8601 time with a zone or without ("2026-11-21T09:03:25.5+01:00"), which then is
/// taken as UTC; empty if it has another form.
std::string utc_of_iso(const std::string& time);

/// The UTC time of a "date" of vLLM (YYYYMMDD-HHMMSS); empty if it has another form.
std::string utc_of_vllm_date(const std::string& date);

}  // namespace paretoken::reports
