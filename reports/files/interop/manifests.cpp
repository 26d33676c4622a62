#include "reports/files/interop/manifests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/run/server_figures.h"
#include "core/text/letter_case.h"
#include "reports/analysis/plan/engine_command.h"
#include "reports/analysis/plan/plan_words.h"

namespace paretoken::reports {
namespace {

using Tree = nlohmann::ordered_json;

/// A word that YAML reads as text without quotes.
bool is_plain(const std::string& text) {
    static constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    constexpr std::size_t kShortest = 4;  // shorter ones may be "y", "no" or "on"
    if (text.size() < kShortest || text.find_first_not_of(kPlain) != std::string::npos) return false;
    const std::string lower = lower_case(text);
    return lower[0] >= 'a' && lower[0] <= 'z' && lower != "true" && lower != "false" && lower != "null";
}

/// JSON's texts are YAML's quoted ones.
std::string scalar(const Tree& value) {
    if (value.is_string() && is_plain(value.get_ref<const std::string&>())) return value;
    return value.dump(-1, ' ', false, Tree::error_handler_t::replace);
}

/// The value as a block of YAML whose lines are indented by `indent`. The keys are words.
std::string yaml_of(const Tree& value, std::size_t indent = 0) {
    constexpr std::size_t kDeeper = 2;
    const std::string blank(indent, ' ');
    std::string text;
    for (const auto& item : value.items()) {
        const Tree& child = item.value();
        const bool is_block = child.is_structured() && !child.empty();
        if (value.is_array())
            text +=
                blank + "- " +
                (is_block ? yaml_of(child, indent + kDeeper).substr(indent + kDeeper) : scalar(child) + "\n");
        else
            text += blank + item.key() + ":" +
                    (is_block ? "\n" + yaml_of(child, indent + kDeeper) : " " + scalar(child) + "\n");
    }
    return text;
}

/// Lines of comments; each is one line whatever it contains.
std::string comments(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "# " + printable(line) + "\n";
    return text;
}

/// Words in which neither compose nor Kubernetes replaces variables.
Tree literal(const std::vector<std::string>& words) {
    Tree list = Tree::array();
    for (const std::string& word : words) {
        std::string escaped;
        for (const char c : word) escaped += c == '$' ? "$$" : std::string(1, c);
        list.push_back(std::move(escaped));
    }
    return list;
}

std::uint64_t replicas_of(const PlannedCell& cell) {
    return cell.fleet ? cell.fleet->replicas : 1;
}

Tree compose_service(const ServerContainer& container, const PlannedCell& cell, std::uint64_t index) {
    std::vector<std::string> devices;
    for (std::uint64_t i = 0; i < cell.gpus(); ++i)
        devices.push_back(std::to_string(index * cell.gpus() + i));
    Tree service{{"image", container.image},
                 {"entrypoint", literal(container.start.program)},
                 {"command", literal(container.start.arguments)},
                 {"environment", {{"HF_TOKEN", "${HF_TOKEN:-}"}}},
                 {"ipc", "host"},
                 {"restart", "unless-stopped"}};
    if (container.amd) {
        service["environment"]["ROCR_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(devices, ","));
        service["devices"] = {"/dev/kfd", "/dev/dri"};
    } else {
        service["deploy"]["resources"]["reservations"]["devices"] = Tree::array(
            {{{"driver", "nvidia"}, {"device_ids", devices}, {"capabilities", Tree::array({"gpu"})}}});
    }
    Tree volume{{"type", "volume"}, {"source", "models"}, {"target", "/root/.cache/huggingface"}};
    if (!container.mounted.empty())
        volume = {{"type", "bind"},
                  {"source", literal({container.mounted})[0]},
                  {"target", "/model"},
                  {"read_only", true}};
    service["volumes"] = Tree::array({std::move(volume)});
    return service;
}

/// The router's configuration: requests go to the server with the fewest connections, and streams pass
/// through at once.
std::string router_configuration(const std::vector<std::string>& servers) {
    std::string upstream;
    for (const std::string& server : servers) upstream += fmt::format(" server {}:{};", server, kServerPort);
    return fmt::format(
        "events {{}} http {{ upstream servers {{ least_conn;{} }} server {{ listen {}; client_max_body_size "
        "0; location / {{ proxy_pass http://servers; proxy_http_version 1.1; proxy_set_header Connection ''; "
        "proxy_buffering off; proxy_read_timeout 1h; }} }} }}",
        upstream, kServerPort);
}

/// A name as Kubernetes allows it: lower-case letters, digits and hyphens, at most 40.
std::string object_name(const std::string& model) {
    constexpr std::size_t kMost = 40;
    std::string name = "llm-";
    for (const char c : lower_case(model.substr(model.find_last_of('/') + 1))) {
        const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (allowed || name.back() != '-') name += allowed ? c : '-';
    }
    name.resize(std::min(name.size(), kMost));
    while (name.back() == '-') name.pop_back();
    return name;
}

Tree probe(int period_s, int failures) {
    return {{"httpGet", {{"path", "/health"}, {"port", "http"}}},
            {"periodSeconds", period_s},
            {"failureThreshold", failures}};
}

Tree pod_of(const ServerContainer& container, const PlannedCell& cell) {
    const char* const gpu = container.amd ? "amd.com/gpu" : "nvidia.com/gpu";
    Tree mounts = Tree::array({{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}});
    Tree volumes = Tree::array(
        {{{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "16Gi"}}}}});
    if (!container.mounted.empty()) {
        mounts.push_back({{"name", "model"}, {"mountPath", "/model"}, {"readOnly", true}});
        volumes.push_back(
            {{"name", "model"}, {"hostPath", {{"path", container.mounted}, {"type", "Directory"}}}});
    }
    const Tree token{
        {"name", "HF_TOKEN"},
        {"valueFrom", {{"secretKeyRef", {{"name", "huggingface"}, {"key", "token"}, {"optional", true}}}}}};
    return {{"containers",
             Tree::array({{{"name", "server"},
                           {"image", container.image},
                           {"command", literal(container.start.program)},
                           {"args", literal(container.start.arguments)},
                           {"env", Tree::array({token})},
                           {"ports", Tree::array({{{"name", "http"}, {"containerPort", kServerPort}}})},
                           {"resources", {{"limits", {{gpu, cell.gpus()}}}}},
                           {"startupProbe", probe(10, 180)},
                           {"readinessProbe", probe(5, 3)},
                           {"volumeMounts", std::move(mounts)}}})},
            {"volumes", std::move(volumes)}};
}

/// The fewest and the most servers: of the plan's autoscaler, or up to the plan's number.
struct Bounds {
    std::uint64_t least = 1;
    std::uint64_t most = 1;
};
Bounds bounds_of(const DeploymentPlan& plan, const PlannedCell& cell) {
    if (!plan.autoscaled) return {.most = replicas_of(cell)};
    return {plan.autoscaled->rule.least, plan.autoscaled->rule.most};
}

/// A number as Kubernetes writes it: below 1 in thousandths.
std::string quantity(double value) {
    return value < 1 ? fmt::format("{:.0f}m", value * 1e3) : fmt::format("{:.0f}", value);
}

Tree autoscaler(const std::string& name, const Bounds& bounds, double in_flight) {
    return {{"apiVersion", "autoscaling/v2"},
            {"kind", "HorizontalPodAutoscaler"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"scaleTargetRef", {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", name}}},
              {"minReplicas", bounds.least},
              {"maxReplicas", bounds.most},
              {"metrics",
               Tree::array(
                   {{{"type", "Pods"},
                     {"pods",
                      {{"metric", {{"name", "requests_in_flight"}}},
                       {"target", {{"type", "AverageValue"}, {"averageValue", quantity(in_flight)}}}}}}})},
              {"behavior",
               {{"scaleUp", {{"stabilizationWindowSeconds", 0}}},
                {"scaleDown", {{"stabilizationWindowSeconds", 300}}}}}}}};
}

/// The rule by which the Prometheus adapter makes the autoscaler's metric, as comments.
std::string adapter_rule(const DeploymentPlan& plan) {
    const auto names = names_of_engine(plan.engine);
    return fmt::format(
        "# The autoscaler's metric is the sum of running and waiting requests. It needs this rule of the "
        "Prometheus adapter:\n"
        "# - seriesQuery: '{0}{{namespace!=\"\",pod!=\"\"}}'\n"
        "#   resources: {{overrides: {{namespace: {{resource: namespace}}, pod: {{resource: pod}}}}}}\n"
        "#   name: {{as: requests_in_flight}}\n"
        "#   metricsQuery: sum({0}{{<<.LabelMatchers>>}} + {1}{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)\n",
        names.at("running"), names.at("waiting"));
}

}  // namespace

std::string compose_file(const DeploymentPlan& plan) {
    const ServerContainer container = server_container_of(plan);
    const PlannedCell& cell = plan.cells[*plan.best];
    const std::uint64_t replicas = replicas_of(cell);
    Tree services;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < replicas; ++i) {
        names.push_back(fmt::format("server-{}", i + 1));
        services[names.back()] = compose_service(container, cell, i);
    }
    const Tree ports = Tree::array({fmt::format("{0}:{0}", kServerPort)});
    Tree file{{"name", "planned"}};
    if (replicas == 1) {
        services[names.front()]["ports"] = ports;
    } else {
        services["router"] = {
            {"image", "nginx:1.29-alpine"},
            {"ports", ports},
            {"depends_on", names},
            {"configs", Tree::array({{{"source", "router"}, {"target", "/etc/nginx/nginx.conf"}}})}};
        file["configs"]["router"]["content"] = router_configuration(names);
    }
    file["services"] = std::move(services);
    if (container.mounted.empty()) file["volumes"]["models"] = Tree::object();
    return comments({answer_of(plan), fmt::format("Servers: {}, on one host with {} GPU{}; port {}.",
                                                  replicas, replicas * cell.gpus(),
                                                  replicas * cell.gpus() == 1 ? "" : "s", kServerPort)}) +
           yaml_of(file);
}

std::string kubernetes_manifests(const DeploymentPlan& plan) {
    const ServerContainer container = server_container_of(plan);
    const PlannedCell& cell = plan.cells[*plan.best];
    if (cell.gpus() > kGpusOfHost)
        throw UsageError(
            fmt::format("--emit k8s: a server has {} GPUs, but a pod runs on one node, which has at most {}; "
                        "plan with fewer ranks (--tp, --pp)",
                        cell.gpus(), kGpusOfHost));
    const std::string name = object_name(plan.model);
    const Tree labels{{"app", name}};
    const Tree annotations{{"prometheus.io/scrape", "true"},
                           {"prometheus.io/port", std::to_string(kServerPort)}};
    const Tree deployment{{"apiVersion", "apps/v1"},
                          {"kind", "Deployment"},
                          {"metadata", {{"name", name}, {"labels", labels}}},
                          {"spec",
                           {{"replicas", replicas_of(cell)},
                            {"selector", {{"matchLabels", labels}}},
                            {"template",
                             {{"metadata", {{"labels", labels}, {"annotations", annotations}}},
                              {"spec", pod_of(container, cell)}}}}}};
    const Tree service{
        {"apiVersion", "v1"},
        {"kind", "Service"},
        {"metadata", {{"name", name}, {"labels", labels}}},
        {"spec",
         {{"selector", labels},
          {"ports", Tree::array({{{"name", "http"}, {"port", kServerPort}, {"targetPort", "http"}}})}}}};
    std::string text = comments({answer_of(plan)}) + yaml_of(deployment) + "---\n" + yaml_of(service);
    const auto in_flight = requests_in_flight_target(plan, cell);
    if (!cell.fleet || !in_flight)
        return text +
               comments({"No autoscaler: its rule follows from limits and a load (--slo with --demand or "
                         "--users)."});
    if (!container.counts_in_flight)
        return text + comments({fmt::format("No autoscaler: {} exports no requests in flight without a "
                                            "configuration file of its own.",
                                            plan.engine)});
    return text + "---\n" + adapter_rule(plan) + yaml_of(autoscaler(name, bounds_of(plan, cell), *in_flight));
}

}  // namespace paretoken::reports
