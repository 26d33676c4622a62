#pragma once
// A gate's files as text: the policy ("paretoken/gate-policy/1", read and written) and the verdict
// ("paretoken/gate/1", written; what a gate that goes on needs of it is read back). Pure.
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

/// What the file does not name stays as in default_policy(). `where` is the file's name. Throws UsageError
/// naming the file, the key and its line.
GatePolicy parse_policy_json(std::string_view text, const std::string& where);

/// What a gate was asked for, to go on with it.
struct GateAsked {
    std::string baseline;  ///< URL or command, secrets hidden
    std::string candidate;
    std::string command;  ///< as it was called
    std::string started_at;
    PlanEcho options;

    bool operator==(const GateAsked&) const = default;
};

/// `asked` is absent for runs that were measured before.
std::string gate_json(const GateReport& report, const std::optional<GateAsked>& asked);

/// Throws UsageError naming the file and what is missing.
GateAsked parse_gate_asked(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
