#pragma once
// The servers of a deployment plan as files that start them: a compose file, and manifests of Kubernetes with
// a rule for scaling that follows from the plan. The functions are pure.
#include <string>

#include "reports/analysis/plan/plan.h"

namespace paretoken::reports {

/// A compose file with the servers of the best cell on one host and, in front of several, a router. Throws
/// UsageError if no cell fits or there is no image of the plan's engine for the GPU.
std::string compose_file(const DeploymentPlan& plan);

/// A Deployment and a Service of these servers and, if the plan has a demand, a HorizontalPodAutoscaler that
/// keeps the requests in flight on each at most at the number at which the limits hold. Throws UsageError as
/// compose_file() does, and for a server on more GPUs than a node has (8).
std::string kubernetes_manifests(const DeploymentPlan& plan);

}  // namespace paretoken::reports
