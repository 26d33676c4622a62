#pragma once
// Reads the power of GPUs from the /metrics of a DCGM exporter, for servers on other machines.
#include <memory>

#include "cards/power_meter.h"
#include "loadgen/http/address.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"
#include "loadgen/scrape/prometheus.h"

namespace paretoken::power {

/// Returns the power in a scrape; nothing when it has no GPU's power.
std::optional<cards::PowerSample> dcgm_sample_of(const scrape::Scrape& scrape);

/// `url`: its base is the path of the metrics. `tls` is null for plain HTTP and must outlive the meter.
std::unique_ptr<cards::PowerMeter> dcgm_power_meter(const http::Url& url, const http::Address& address,
                                                    const http::TlsContext* tls);

}  // namespace paretoken::power
