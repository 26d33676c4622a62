#pragma once
// Reads the power of GPUs from the /metrics of a DCGM exporter, for servers on other machines.
#include <memory>

#include "cards/power_meter.h"
#include "loadgen/http/address.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"
#include "loadgen/scrape/prometheus.h"

namespace paretoken::power {

/// Returns the reading in a scrape, over all GPUs together; nothing when the scrape has the power of no GPU.
std::optional<PowerSample> dcgm_sample_of(const scrape::Scrape& scrape);

/// Returns a meter that sends a GET request for each reading and waits at most 2 s for the answer. `url` is
/// the URL of the metrics with its whole path. `tls` is null for plain HTTP and must outlive the meter.
std::unique_ptr<cards::PowerMeter> dcgm_power_meter(const http::Url& url, const http::Address& address,
                                                    const http::TlsContext* tls);

}  // namespace paretoken::power
