#pragma once
// The files of a gate as text: the policy ("paretoken/gate-policy/1", read and written) and the verdict
// ("paretoken/gate/1", written; only the parts that a resumed gate needs are read back). Pure.
#include <optional>
#include <string>
#include <string_view>

#include "core/result/result.h"
#include "reports/gate/decision.h"

namespace paretoken::reports {

inline constexpr std::string_view kGatePolicySchema = "paretoken/gate-policy/1";
inline constexpr std::string_view kGateSchema = "paretoken/gate/1";
inline constexpr std::string_view kGateFileName = "gate.json";

std::string policy_json(const GatePolicy& policy);

/// Reads a policy. Settings that the file does not name stay as in default_policy(). `where` is the file's
/// name. Throws a UsageError that names the file and, for a wrong key or value, the key and its line. A
/// policy without metrics and limits is read, since the command line may add limits; check() refuses it.
GatePolicy parse_policy_json(std::string_view text, const std::string& where);

/// The request that a gate was started with, for resuming it.
struct GateAsked {
    std::string baseline;  ///< URL or command, without secrets
    std::string candidate;
    std::string command;  ///< command line of the gate
    std::string started_at;
    PlanEcho options;

    bool operator==(const GateAsked&) const = default;
};

/// The text of gate.json. `asked` is absent if the gate judges runs that were measured before.
std::string gate_json(const GateReport& report, const std::optional<GateAsked>& asked);

/// Reads the request from gate.json. Throws a UsageError that names the file if the request is not in it.
GateAsked parse_gate_asked(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
