#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/error.h"
#include "core/statistics.h"
#include "core/units.h"
#include "microbench/collect.h"
#include "microbench/gpu/ceilings/ceilings.h"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/device/nvml.h"
#include "microbench/gpu/device/validity.h"
#include "microbench/gpu/measure.h"
#include "microbench/gpu/protocol.h"

namespace paretoken::microbench::gpu {
namespace {

/// After a longer pause, for example a check on the host, the clocks of the GPU count as fallen.
constexpr Duration kSoonIdle = std::chrono::milliseconds(100);
/// The clocks have settled when the time of a replay changes by less than this fraction from step to step.
constexpr double kSettled = 5e-3;
constexpr std::uint64_t kMostProbeBytes = 256ULL << 20;

std::uint64_t free_device_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    PARETOKEN_CUDA(cudaMemGetInfo(&free, &total));
    return free;
}

/// Captures the launches between its construction and `finish` in a graph. If an exception ends the capture
/// earlier, the destructor discards it.
class Capture {
  public:
    explicit Capture(cudaStream_t stream) : stream_(stream) {
        PARETOKEN_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    }
    ~Capture() {
        if (stream_ == nullptr) return;
        cudaGraph_t abandoned = nullptr;
        cudaStreamEndCapture(stream_, &abandoned);
        if (abandoned != nullptr) cudaGraphDestroy(abandoned);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    struct Captured {
        OwnedGraphExec graph;
        std::size_t nodes = 0;
    };
    Captured finish() {
        cudaGraph_t captured = nullptr;
        const cudaError_t status = cudaStreamEndCapture(std::exchange(stream_, nullptr), &captured);
        const OwnedGraph graph(captured);
        PARETOKEN_CUDA(status);
        std::size_t nodes = 0;
        PARETOKEN_CUDA(cudaGraphGetNodes(graph.get(), nullptr, &nodes));
        cudaGraphExec_t exec = nullptr;
        PARETOKEN_CUDA(cudaGraphInstantiate(&exec, graph.get(), 0));
        return {OwnedGraphExec(exec), nodes};
    }

  private:
    cudaStream_t stream_;
};

double seconds_between(const OwnedEvent& begin, const OwnedEvent& end) {
    float milliseconds = 0;
    PARETOKEN_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    return static_cast<double>(milliseconds) * 1e-3;
}

/// Returns the seconds on the GPU from the end of the work enqueued before to the end of the work that
/// `enqueue` adds.
template <class Enqueue>
double timed(cudaStream_t stream, const OwnedEvent& begin, const OwnedEvent& end, Enqueue enqueue) {
    PARETOKEN_CUDA(cudaEventRecord(begin.get(), stream));
    enqueue();
    PARETOKEN_CUDA(cudaEventRecord(end.get(), stream));
    PARETOKEN_CUDA(cudaEventSynchronize(end.get()));
    return seconds_between(begin, end);
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return percentile(values, .5);
}

/// Enqueues one launch on the given copy of the operand.
using Launch = std::function<void(std::size_t copy, Stream stream)>;

Launch launch_of(GpuKernel& kernel) {
    return [&kernel](std::size_t copy, Stream stream) { kernel.launch(copy, stream); };
}

/// Runs one replay: a CUDA graph of many launches, or the same number of launches enqueued one by one.
class Replay {
  public:
    /// Finds the number of launches for a replay of `replay_s` seconds. It launches for `waking_s` seconds
    /// before it times a launch, because a launch takes several times as long at the low clocks of an idle
    /// GPU.
    Replay(Launch launch, std::size_t copies, Launching launching, double replay_s, double waking_s,
           cudaStream_t stream)
        : launch_(std::move(launch)),
          copies_(copies),
          stream_(stream),
          begin_(new_event()),
          end_(new_event()) {
        launches_ = std::min<std::size_t>(copies, 16);
        const TimePoint awake = Clock::now() + from_seconds(waking_s);
        do {
            enqueue_launches();  // the first launch loads code, which a capture does not allow
            PARETOKEN_CUDA(cudaStreamSynchronize(stream_));
        } while (Clock::now() < awake);
        const ReplayTimes times{.replay_s = replay_s};
        const double once =
            timed(stream_, begin_, end_, [&] { enqueue_launches(); }) / static_cast<double>(launches_);
        launches_ = launches_per_graph(once, copies, times);
        if (launching == Launching::stream) return;
        capture();
        double took_s = timed(stream_, begin_, end_, [&] { enqueue(); });
        took_s = std::min(took_s, timed(stream_, begin_, end_, [&] { enqueue(); }));
        const std::size_t corrected = corrected_launches(launches_, took_s, copies, times);
        if (corrected == launches_) return;
        launches_ = corrected;
        capture();
    }

    void enqueue() {
        if (graph_) {
            PARETOKEN_CUDA(cudaGraphLaunch(graph_.get(), stream_));
        } else {
            enqueue_launches();
        }
    }
    /// Replays for `seconds` and returns the mean time of one replay in seconds, measured on the host.
    double run_for(double seconds) {
        const TimePoint begin = Clock::now();
        int count = 0;
        do {
            enqueue();
            PARETOKEN_CUDA(cudaStreamSynchronize(stream_));
            ++count;
        } while (Clock::now() < begin + from_seconds(seconds));
        return paretoken::seconds(Clock::now() - begin) / count;
    }
    /// Runs `uncounted` replays that are not timed, then `count` timed ones, and returns the seconds per
    /// launch of each timed replay.
    std::vector<double> launch_seconds(int count, int uncounted) {
        for (int i = 0; i < uncounted; ++i) enqueue();
        // The replays are enqueued back to back. If the GPU had to wait for the host, the time between two
        // events would include the launch on the host.
        std::vector<OwnedEvent> between;
        for (int i = 0; i <= count; ++i) between.push_back(new_event());
        for (int i = 0; i < count; ++i) {
            PARETOKEN_CUDA(cudaEventRecord(between[i].get(), stream_));
            enqueue();
        }
        PARETOKEN_CUDA(cudaEventRecord(between[count].get(), stream_));
        PARETOKEN_CUDA(cudaEventSynchronize(between[count].get()));
        std::vector<double> seconds;
        for (int i = 0; i < count; ++i) {
            seconds.push_back(seconds_between(between[i], between[i + 1]) / static_cast<double>(launches_));
        }
        return seconds;
    }
    std::size_t launches() const { return launches_; }
    /// Number of nodes of the graph, or 0 if there is no graph.
    std::size_t nodes() const { return nodes_; }

  private:
    void capture() {
        Capture capture(stream_);
        enqueue_launches();
        Capture::Captured captured = capture.finish();
        graph_ = std::move(captured.graph);
        nodes_ = captured.nodes;
        PARETOKEN_CUDA(cudaGraphUpload(graph_.get(), stream_));
    }
    void enqueue_launches() {
        for (std::size_t i = 0; i < launches_; ++i) launch_(i % copies_, stream_);
    }

    Launch launch_;
    std::size_t copies_;
    cudaStream_t stream_;
    OwnedEvent begin_;
    OwnedEvent end_;
    std::size_t launches_ = 0;
    std::size_t nodes_ = 0;
    OwnedGraphExec graph_;
};

RingPlan ring_for(const GpuKernel& kernel, const DeviceFacts& device, std::uint64_t scale = 1) {
    if (kernel.copy_bytes() == 0) return {.copies = 1, .bytes = 0};
    const auto plan = ring_plan(kernel.copy_bytes(), {.l2_bytes = device.l2_bytes,
                                                      .free_bytes = free_device_bytes(),
                                                      .least_bytes = least_ring_bytes(device.memory_bytes),
                                                      .scale = scale});
    if (plan) return *plan;
    throw RuntimeError(fmt::format("one copy of the operand takes {} MiB, more than the GPU has free",
                                   kernel.copy_bytes() >> 20));
}

std::optional<std::string> fault_of(GpuKernel& kernel, cudaStream_t stream) {
    auto wrong = kernel.check(stream);
    PARETOKEN_CUDA(cudaStreamSynchronize(stream));
    if (!wrong) return std::nullopt;
    return "verification failed: " + *wrong;
}

}  // namespace

struct GpuSession::State {
    DeviceFacts device;
    GpuSettings settings;
    Protocol protocol = protocol_of(settings);
    OwnedStream stream = new_stream();
    Nvml nvml{device.pci_bus_id};
    bool warm = false;
    TimePoint last_busy = {};
    std::vector<CeilingPoint> curve;  // time of the fastest way of reading at each size
    std::uint64_t probe_bytes = 0;
    std::unique_ptr<GpuKernel> probe;
    std::unique_ptr<Replay> probe_replay;
    double first_probe = 0;  // bytes/s of the probe when the curve was measured

    void prepare(GpuKernel& kernel, std::size_t copies) const {
        kernel.prepare(copies, settings.seed);
        // The stream does not wait for uploads and fills, which run on the default stream.
        PARETOKEN_CUDA(cudaDeviceSynchronize());
    }

    /// Returns for how many seconds the first replay of a row launches before it times a launch.
    double waking_seconds() {
        return std::exchange(warm, true) ? protocol.waking_s : protocol.first_warm_up_s;
    }

    void warm_up(Replay& replay, const Work& work) const {
        replay.run_for(protocol.warm_up_s);
        if (!is_bound_by_arithmetic(work)) return;
        // At its power limit a GPU lowers its clocks step by step, for about one second.
        const TimePoint latest = Clock::now() + from_seconds(protocol.settling_s);
        double before = replay.run_for(protocol.settling_step_s);
        while (Clock::now() < latest) {
            const double now = replay.run_for(protocol.settling_step_s);
            if (std::abs(now / before - 1) < kSettled) return;
            before = now;
        }
    }

    double read_seconds(std::uint64_t bytes, Access access) {
        const auto kernel = read_ceiling(bytes, access);
        const RingPlan ring = ring_for(*kernel, device);
        prepare(*kernel, ring.copies);
        Replay replay(launch_of(*kernel), ring.copies, Launching::graph, protocol.replay_s, waking_seconds(),
                      stream.get());
        const auto seconds = replay.launch_seconds(protocol.ceiling_replays, protocol.uncounted_replays);
        last_busy = Clock::now();
        return median_of(seconds);
    }

    double fastest_read_seconds(std::uint64_t bytes) {
        double seconds = read_seconds(bytes, Access::strided);
        if (bytes < kWaysDifferFrom) return seconds;
        for (const Access access : {Access::shares, Access::staged})
            seconds = std::min(seconds, read_seconds(bytes, access));
        return seconds;
    }

    void measure_ceiling() {
        if (!curve.empty()) return;
        for (const std::uint64_t bytes : kCurveSizes) {
            if (2 * bytes > free_device_bytes()) break;
            curve.push_back({static_cast<double>(bytes), fastest_read_seconds(bytes)});
        }
        if (curve.size() < 2)
            throw RuntimeError("the GPU has less than 8 MiB of free memory: end other programs on it");
        probe_bytes = std::min(kMostProbeBytes, static_cast<std::uint64_t>(curve.back().bytes));
        probe = read_ceiling(probe_bytes, Access::strided);
        const RingPlan ring = ring_for(*probe, device);
        prepare(*probe, ring.copies);
        probe_replay = std::make_unique<Replay>(launch_of(*probe), ring.copies, Launching::graph,
                                                protocol.probe_s, protocol.waking_s, stream.get());
        first_probe = probed_speed();
    }

    /// Measures the speed of the probe, a short read, in bytes per second.
    double probed_speed() {
        return static_cast<double>(probe_bytes) /
               median_of(probe_replay->launch_seconds(protocol.probe_replays, protocol.uncounted_replays));
    }

    /// Asks the driver for clocks and slowdowns while replays keep the GPU busy, because the clocks of an
    /// idle GPU say nothing about the row.
    GpuConditions conditions_under(Replay& replay) {
        for (int i = 0; i < protocol.watched_replays; ++i) replay.enqueue();
        const GpuConditions conditions = nvml.conditions();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream.get()));
        return conditions;
    }

    Measurement measurement_from(const std::vector<double>& launch_s, const Work& work) const {
        const double bytes = work.read_bytes + work.written_bytes;
        const double ceiling_s = bytes > 0 ? ceiling_seconds(curve, bytes) : 0;
        std::vector<PairedWindow> windows;
        for (const double seconds : launch_s) {
            windows.push_back({.kernel_s = seconds,
                               .ceiling_s = ceiling_s,
                               .kernel_bytes = bytes,
                               .ceiling_bytes = bytes,
                               .flops = work.flops});
        }
        Measurement measurement = measurement_of(windows, 1);
        measurement.ceiling_drift.reset();  // the ceiling is a curve here; the probe measures the drift
        return measurement;
    }

    /// Returns the counters of a step of several operations. `part_NAME_s` is the time of one operation
    /// alone, over the same ring; `parts_s` is the sum of these times. `parts_ceiling_s` is the time of all
    /// operations if each moved its bytes at the read ceiling of its size. `gap_s` is the time of the whole
    /// step minus `parts_s`.
    std::vector<std::pair<std::string, double>> counters_of_parts(const std::vector<Part>& parts,
                                                                  std::size_t copies, double whole_s) {
        std::vector<std::pair<std::string, double>> counters;
        double sum_s = 0;
        double ceilings_s = 0;
        for (const Part& part : parts) {
            Replay replay(part.launch, copies, Launching::graph, protocol.replay_s / 2, 0, stream.get());
            const double seconds =
                median_of(replay.launch_seconds(protocol.part_replays, protocol.uncounted_replays));
            counters.emplace_back(fmt::format("part_{}_s", part.name), seconds);
            sum_s += seconds;
            ceilings_s += ceiling_seconds(curve, part.work.read_bytes + part.work.written_bytes);
        }
        counters.emplace_back("parts_s", sum_s);
        counters.emplace_back("parts_ceiling_s", ceilings_s);
        counters.emplace_back("gap_s", whole_s - sum_s);
        return counters;
    }

    /// Runs two launches for a profiler that starts to record at cudaProfilerStart, on different copies if
    /// there are several. A whole round of the ring runs before them, so that they find the same cache
    /// contents as a timed launch. Prints the name of the row on standard output.
    RowOutcome profiled_row(GpuKernel& kernel, const std::string& name, const RingPlan& ring) {
        const auto launch = [&](std::size_t copy) {
            kernel.launch(copy, stream.get());
            PARETOKEN_CUDA(cudaStreamSynchronize(stream.get()));
        };
        for (std::size_t copy = 0; copy < ring.copies; ++copy) launch(copy);
        PARETOKEN_CUDA(cudaProfilerStart());
        for (const std::size_t copy : {std::size_t{0}, ring.copies / 2}) launch(copy);
        PARETOKEN_CUDA(cudaProfilerStop());
        fmt::print("{{\"profiled\": \"{}\", \"read_bytes\": {:.0f}, \"launches\": 2}}\n", name,
                   kernel.work().read_bytes);
        std::fflush(stdout);
        return {.judgement = {.notes = {"profiled, not timed"}}};
    }

    RowOutcome timed_row(GpuKernel& kernel, const GpuRow& row, const RingPlan& ring) {
        const Work work = kernel.work();
        const GpuConditions at_first =
            nvml.conditions();  // asked before the warm-up, because the GPU idles until NVML answers
        Replay replay(launch_of(kernel), ring.copies, row.launching, protocol.replay_s, waking_seconds(),
                      stream.get());
        warm_up(replay, work);
        const auto measured = [&] {
            return measurement_from(replay.launch_seconds(protocol.replays, protocol.uncounted_replays),
                                    work);
        };
        Measurement measurement = measured();
        if (measurement.cv > kMaxGpuVariation) {
            const Measurement again = measured();
            if (again.cv < measurement.cv) measurement = again;
        }
        const GpuConditions conditions = during(at_first, conditions_under(replay));
        measurement.ceiling_drift = std::abs(probed_speed() / first_probe - 1);
        GpuRowFacts facts{.verified = true,
                          .streams = kernel.copy_bytes() > 0,
                          .is_ceiling = row.name.starts_with("ceiling/"),
                          .ring_bytes = ring.bytes,
                          .l2_bytes = device.l2_bytes,
                          .cv = measurement.cv,
                          .of_ceiling = measurement.of_ceiling,
                          .ceiling_drift = measurement.ceiling_drift,
                          .conditions = conditions};
        RowOutcome outcome{.measurement = measurement};
        if (measurement.bytes_per_second) {
            facts.of_asymptote = *measurement.bytes_per_second / asymptotic_speed(curve);
            outcome.counters.emplace_back("of_asymptote", *facts.of_asymptote);
            outcome.counters.emplace_back("read_bytes", work.read_bytes);
            outcome.counters.emplace_back("written_bytes", work.written_bytes);
            if (const auto peak = device.peak_bytes_per_second()) {
                outcome.counters.emplace_back("of_peak_by_clock", *measurement.bytes_per_second / *peak);
            }
        }
        outcome.counters.emplace_back("ring_bytes", static_cast<double>(ring.bytes));
        outcome.counters.emplace_back("ring_copies", static_cast<double>(ring.copies));
        outcome.counters.emplace_back("launches_per_replay", static_cast<double>(replay.launches()));
        if (conditions.sm_clock_mhz) outcome.counters.emplace_back("sm_clock_mhz", *conditions.sm_clock_mhz);
        if (conditions.memory_clock_mhz)
            outcome.counters.emplace_back("memory_clock_mhz", *conditions.memory_clock_mhz);
        const std::vector<Part> parts = kernel.parts();
        if (!parts.empty()) {
            outcome.counters.emplace_back(
                "nodes", static_cast<double>(replay.nodes()) / static_cast<double>(replay.launches()));
            outcome.counters.emplace_back("ceiling_s",
                                          ceiling_seconds(curve, work.read_bytes + work.written_bytes));
            for (auto& counter : counters_of_parts(parts, ring.copies, measurement.median_s))
                outcome.counters.push_back(std::move(counter));
        }
        outcome.judgement = judgement_of(facts);
        return outcome;
    }
};

GpuSession::GpuSession(DeviceFacts device, GpuSettings settings)
    : device_(std::move(device)), settings_(std::move(settings)) {}

GpuSession::~GpuSession() = default;

RowOutcome GpuSession::measured(const GpuRow& row) {
    if (!lost_by_.empty()) {
        throw RuntimeError(fmt::format(
            "not run: a fault in {} left the GPU unusable for this process; leave that row out with "
            "--benchmark_filter",
            lost_by_));
    }
    try {
        return outcome_of(row);
    } catch (const RuntimeError&) {
        // After a fault in a kernel, every further call fails with the same status.
        if (cudaDeviceSynchronize() != cudaSuccess) lost_by_ = row.name;
        throw;
    }
}

RowOutcome GpuSession::outcome_of(const GpuRow& row) {
    if (!state_) state_.reset(new State{.device = device_, .settings = settings_});
    State& s = *state_;
    if (!s.settings.verify_only && !s.settings.profile) s.measure_ceiling();
    const auto kernel = row.make();
    const RingPlan ring = s.settings.verify_only
                              ? RingPlan{.copies = kernel->copy_bytes() > 0 ? std::size_t{2} : 1}
                              : ring_for(*kernel, s.device, s.settings.ring_scale);
    s.prepare(*kernel, ring.copies);
    if (s.settings.profile) return s.profiled_row(*kernel, row.name, ring);
    if (auto fault = fault_of(*kernel, s.stream.get())) return {.error = std::move(fault)};
    if (s.settings.verify_only) return {.judgement = {.notes = {"verified, not timed"}}};
    if (Clock::now() - s.last_busy > kSoonIdle) s.warm = false;
    RowOutcome outcome = s.timed_row(*kernel, row, ring);
    s.last_busy = Clock::now();
    return outcome;
}

DeviceQuery queried_device() {
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    std::error_code ignored;
    const bool has_control_node = std::filesystem::exists("/dev/nvidiactl", ignored);
    DeviceQuery query{.presence = presence_of(counted, devices, has_control_node)};
    if (query.presence != Presence::present) {
        query.message = cudaGetErrorString(counted);
        return query;
    }
    cudaDeviceProp properties{};
    PARETOKEN_CUDA(cudaGetDeviceProperties(&properties, 0));
    const auto attribute = [](cudaDeviceAttr which) {
        int value = 0;
        PARETOKEN_CUDA(cudaDeviceGetAttribute(&value, which, 0));
        return value;
    };
    char bus_id[32] = {};
    PARETOKEN_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0));
    DeviceFacts& facts = query.facts;
    facts.name = properties.name;
    facts.pci_bus_id = bus_id;
    facts.capability = properties.major * 10 + properties.minor;
    facts.multiprocessors = properties.multiProcessorCount;
    facts.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
    facts.memory_bytes = properties.totalGlobalMem;
    facts.shared_bytes_per_block = properties.sharedMemPerBlockOptin;
    facts.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
    facts.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate);
    facts.sm_clock_khz = attribute(cudaDevAttrClockRate);
    PARETOKEN_CUDA(cudaDriverGetVersion(&facts.driver_version));
    PARETOKEN_CUDA(cudaRuntimeGetVersion(&facts.runtime_version));
    return query;
}

}  // namespace paretoken::microbench::gpu
