// Price cards: every price from an accepted card is a number and not negative.
#include "cards/price.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

void require_rate(const cards::PriceCard& card, const std::string& name) {
    std::optional<cards::HourlyRate> rate;
    const cards::PricedHardware hardware{.name = name, .count = 2, .cores = 8};
    if (refuses([&] { rate = cards::hourly_rate(card, hardware); }) || !rate) return;
    require(std::isfinite(rate->usd_per_h) && rate->usd_per_h >= 0,
            "a rate is a number that is not negative");
    require(!rate->item.empty() && !rate->how.empty(), "a rate says what it is the price of");
}

}  // namespace

void fuzz(Input input) {
    cards::PriceCard card;
    if (refuses([&] { card = cards::parse_price_card(input.rest(), "card.json"); })) return;
    require(card == cards::parse_price_card(input.rest(), "card.json"), "a card is read the same each time");
    const double share = cards::earning_share(card);
    require(share > 0 && share <= 1, "a part of the time that is paid earns");
    for (const auto& [name, item] : card.gpus) require_rate(card, name);
    for (const auto& [name, item] : card.cpus) require_rate(card, name);
    require_rate(card, "h200");
}

}  // namespace paretoken::fuzz
