// The small languages of the command line: an accepted text can be written and read again, and its value is
// within its bounds.
#include "core/spec.h"

#include <cmath>
#include <limits>

#include "cards/gpu.h"
#include "core/result/slo.h"
#include "datasets/synthetic/lengths.h"
#include "loadgen/load/arrival.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

void durations(std::string_view text) {
    const Duration duration = parse_duration(text);
    require(duration >= Duration{}, "a duration is not negative");
    require(parse_duration(text_of(duration)) == duration, "a duration written down is read back as it was");
}

void numbers(std::string_view text) {
    refuses([&] { require(std::isfinite(parse_number(text)), "a number is finite"); });
    const std::uint64_t count = parse_count(text);
    require(parse_count(std::to_string(count)) == count, "a count written down is read back as it was");
}

void require_steps(const std::vector<double>& rungs, double least) {
    require(!rungs.empty() && rungs.front() >= least, "a ladder has a step, and none below the least");
    require(std::isfinite(rungs.back()), "steps are finite");
    require(std::adjacent_find(rungs.begin(), rungs.end(), std::greater_equal<>()) == rungs.end(),
            "a ladder goes up");
}

void ladders(std::string_view text) {
    refuses([&] { require_steps(parse_ladder(text, Rungs::whole), 1); });
    require_steps(parse_ladder(text, Rungs::decimal), std::numeric_limits<double>::denorm_min());
}

void specs(std::string_view text) {
    const Spec spec = parse_spec(text);
    require(parse_spec(text_of(spec)) == spec, "a spec written down is read back as it was");
    refuses([&] {
        const loadgen::Arrivals arrivals = loadgen::arrivals_of(spec);
        if (!arrivals.times) return;
        const loadgen::ArrivalTimes times = arrivals.times(1);
        Duration before{};
        for (int i = 0; i < 4; ++i) {
            const auto time = times();
            if (!time) break;
            require(*time >= before, "no request is due before the one before it");
            before = *time;
        }
    });
}

void lengths(std::string_view text) {
    const datasets::Lengths lengths(text);
    Random random(1);
    for (int i = 0; i < 8; ++i) require(lengths.draw(random) >= 1, "a length is a token at the least");
    require(std::isfinite(lengths.mean()), "lengths have a mean");
}

void limits(std::string_view text) {
    const Slo slo = parse_slo(text);
    require(std::isfinite(slo.limit) && !slo.tag.empty(), "a limit is a number on something");
}

void gpus(std::string_view text) {
    const cards::GpuSpec spec = cards::parse_gpu_spec(text);
    require(!spec.name.empty() && spec.count > 0, "there is a GPU at the least, and it has a name");
}

}  // namespace

void fuzz(Input input) {
    constexpr std::array kLanguages = {durations, numbers, ladders, specs, lengths, limits, gpus};
    const auto language = kLanguages[input.byte() % kLanguages.size()];
    refuses([&] { language(input.rest()); });
}

}  // namespace paretoken::fuzz
