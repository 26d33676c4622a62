#pragma once
// The files of a gate as text. The policy ("paretoken/gate-policy/1") is read and written. gate.json
// ("paretoken/gate/1") holds the verdict and the arguments of the gate. The functions are pure.
#include <optional>
#include <string>
#include <string_view>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

inline constexpr std::string_view kGatePolicySchema = "paretoken/gate-policy/1";
inline constexpr std::string_view kGateSchema = "paretoken/gate/1";

/// The text of a policy file.
std::string policy_json(const GatePolicy& policy);

/// Reads a policy; other settings stay as in default_policy(). Throws a UsageError that names the file
/// (`where`), and the key and line that is wrong. check() refuses a policy without metrics and limits.
GatePolicy parse_policy_json(std::string_view text, const std::string& where);

/// The arguments with which a gate was started. A gate is resumed only with equal arguments.
struct GateAsked {
    std::string baseline;    ///< URL or command, without secrets
    std::string candidate;   ///< URL or command, without secrets
    std::string command;     ///< command line of the gate
    std::string started_at;  ///< time in UTC
    PlanEcho options = {};   ///< options of the load, without a target

    bool operator==(const GateAsked&) const = default;
};

/// The text of gate.json. `asked` is absent if the gate judges runs that were measured before.
std::string gate_json(const GateReport& report, const std::optional<GateAsked>& asked);

/// Reads the report that gate_json() wrote. `where` is the file's name. Throws a UsageError that names the
/// file, and the key that is missing or malformed.
GateReport parse_gate_json(std::string_view text, const std::string& where);

/// Reads the arguments that gate_json() wrote as `asked` from the text of gate.json. `where` is the file's
/// name. Throws a UsageError that names the file if they are not in it.
GateAsked parse_gate_asked(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
