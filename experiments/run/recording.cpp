#include "experiments/run/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/plan/events_kept.h"
#include "core/run/recorded.h"
#include "experiments/server/load.h"
#include "experiments/server/redaction.h"
#include "experiments/server/target.h"
#include "reports/files/events.h"
#include "reports/files/records.h"
#include "reports/files/server_lines.h"

namespace paretoken::experiments {

struct Recording::Files {
    Files(const std::filesystem::path& directory, const Load& load, const Target& target)
        : paths(reports::record_files_in(directory)),
          zero(*load.options.began),
          records(paths, zero,
                  {.events = parse_events_kept(load.plan.events),
                   .waits = target.in_virtual_time(),
                   .answers = load.plan.keep_answers,
                   .trace_ids = load.plan.traceparent}),
          sink(records, target.secrets()),
          server_lines(directory / reports::kServerFileName, zero) {}

    reports::RecordFiles paths;
    TimePoint zero;
    reports::RecordWriter records;
    RedactingSink sink;
    reports::ServerLines server_lines;
};

Recording::Recording(const std::filesystem::path& directory, Load& load, const Target& target)
    : files_(std::make_unique<Files>(directory, load, target)) {
    load.on_scrape = [&lines = files_->server_lines, &target](ServerScrape scrape) {
        redact(scrape, target.secrets());
        lines.add(scrape);
    };
    load.on_power = [&lines = files_->server_lines](const std::string& source, const PowerReading& reading) {
        lines.add(source, reading);
    };
}

Recording::~Recording() = default;

RecordSink& Recording::sink() {
    return files_->sink;
}

void Recording::finish(Recorded& recorded) {
    recorded.lost = fmt::format("{}", fmt::join(files_->records.finish(), "; "));
    // The events are read back from the disk, so that a run of any length fits into memory.
    recorded.events = std::make_shared<reports::EventsFile>(files_->paths.events, files_->zero);
}

}  // namespace paretoken::experiments
