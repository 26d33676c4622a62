#pragma once
// Keeps the secrets of a plan out of everything that an experiment stores, such as command lines and errors.
#include <string>

#include "core/plan/plan.h"
#include "core/record/provenance.h"
#include "core/record/record_sink.h"
#include "core/text/secrets.h"

namespace paretoken {
struct Begun;
struct Recorded;
struct RunResult;
struct ServerScrape;
}  // namespace paretoken

namespace paretoken::experiments {

/// Returns the API key, the values of headers, the credentials and query values of URLs (except harmless
/// ones), and secret values in --server-env, --metadata, commands and request bodies. Throws UsageError.
Secrets secrets_of(const LoadPlan& plan, const std::string& api_key);

// These hide `secrets` in command line, URLs, model, metadata, options, and what the server tells of itself.
void redact(PlanEcho& options, const Secrets& secrets);
void redact(Begun& begun, const Secrets& secrets);
void redact(ServerScrape& scrape, const Secrets& secrets);
/// Leaves `recorded.begun`, and the error texts in the records, which RedactingSink hides in the files.
void redact(Recorded& recorded, const Secrets& secrets);
/// Hides `secrets` in the example errors of the run and of its classes, turns and targets. The result must be
/// that of records whose other texts have none.
void redact(RunResult& result, const Secrets& secrets);

/// Passes records on with the secrets hidden in their error texts and answer texts.
class RedactingSink : public RecordSink {
  public:
    /// Both must outlive this.
    RedactingSink(RecordSink& to, const Secrets& secrets) : to_(to), secrets_(secrets) {}
    void record(RequestRecord&& record) override;

  private:
    RecordSink& to_;
    const Secrets& secrets_;
};

}  // namespace paretoken::experiments
