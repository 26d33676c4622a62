#include "cli/plan/plan_from.h"

#include <filesystem>

#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/plan/runs_directory.h"
#include "core/error.h"
#include "core/spec.h"
#include "experiments/server_fit.h"
#include "reports/files/file_io.h"
#include "reports/files/json/server_fit_json.h"

namespace paretoken::cli {

void plan_from(const PlanFrom& command) {
    experiments::FitOptions options{.run = command.run, .model_card = command.model_card, .gpu = command.gpu};
    for (const std::string& text : command.levels) {
        options.loads.push_back(naming("--at", [&] { return parse_number(text); }));
        if (!(options.loads.back() > 0)) throw UsageError("--at: a load is above 0");
    }
    const RunsDirectory runs(command.out);
    options.directory = command.out.empty() ? runs.path() : std::filesystem::path(command.out);
    reports::ensure_directory(options.directory);
    const InterruptWatch interrupt(
        "\nending the plan: no plan is written (press Ctrl-C again to end at once)\n");
    reports::ServerFit fit = experiments::fit_server(options, this_invocation(), interrupt.token());
    if (command.out.empty())
        fit.profile.clear();
    else
        reports::write_file_atomically(options.directory / reports::kPredictionFileName,
                                       reports::server_fit_json(fit) + "\n");
    if (command.json) return print("{}\n", reports::server_fit_json(fit));
    print("{}", reports::server_fit_console(fit));
}

}  // namespace paretoken::cli
