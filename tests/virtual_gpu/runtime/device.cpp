#include "tests/virtual_gpu/runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kMostComplaints = 100;

cudaError_t status_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::out_of_bounds:
            return cudaErrorIllegalAddress;
        case FaultKind::misaligned:
            return cudaErrorMisalignedAddress;
        case FaultKind::endless:
            return cudaErrorLaunchTimeout;
        case FaultKind::uninitialised:
        case FaultKind::race:
        case FaultKind::divergence:
            break;
    }
    return cudaErrorLaunchFailure;
}

std::uintptr_t address_of(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at);
}

/// Marks bytes of `to` as written if the bytes of `from` that are copied there were written.
void carry_written(const Allocation& from, std::size_t offset, Allocation& to, std::size_t to_offset,
                   std::size_t bytes) {
    constexpr std::size_t kStep = 4096;
    if (from.is_written(offset, bytes)) return to.mark_written(to_offset, bytes);
    if (bytes == 1) return;
    const std::size_t step = bytes > kStep ? kStep : bytes > 32 ? 32 : 1;
    for (std::size_t at = 0; at < bytes; at += step)
        carry_written(from, offset + at, to, to_offset + at, std::min(step, bytes - at));
}

std::size_t first_unwritten(const Allocation& from, std::size_t offset, std::size_t bytes) {
    std::size_t at = 0;
    while (at < bytes && from.is_written(offset + at, 1)) ++at;
    return at;
}

}  // namespace

struct Device::Copy {
    cudaMemcpyKind kind = cudaMemcpyDefault;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    /// Contents of pageable host memory at the time of the call.
    std::shared_ptr<const std::vector<std::byte>> staged = {};
};

Device::Device(const Settings& settings, const std::filesystem::path& ptx)
    : settings_(settings),
      limits_(limits_of(settings.capability)),
      memory_(settings.memory_bytes),
      kernels_(ptx, settings.capability),
      streams_(settings.lazy) {
    report_.gpu = settings.name();
}

void Device::complain(std::string text) {
    if (report_.complaints.size() >= kMostComplaints) return;
    fmt::print(stderr, "virtual GPU: {}\n", text);
    report_.complaints.push_back(std::move(text));
}

void Device::die(cudaError_t status, const std::string& text) {
    fmt::print(stderr, "virtual GPU: {}\n", text);
    death_ = status;
}

// ---- kernels

cudaError_t Device::resolve(HostKernel& kernel) {
    if (kernel.found != nullptr) return cudaSuccess;
    try {
        kernel.found = kernels_.find(kernel.name);
    } catch (const std::exception& error) {
        complain(error.what());
        return cudaErrorInvalidPtx;
    }
    if (kernel.found != nullptr) {
        kernel.most_dynamic_shared =
            kSharedWithoutAsking - std::min(kSharedWithoutAsking, kernel.found->facts.static_shared);
        return cudaSuccess;
    }
    complain(fmt::format("{}: no PTX file has this kernel", readable_name(kernel.name)));
    return cudaErrorNoKernelImageForDevice;
}

cudaError_t Device::allow_dynamic_shared(HostKernel& kernel, int bytes) {
    if (const cudaError_t status = resolve(kernel); status != cudaSuccess) return status;
    if (bytes < 0) return cudaErrorInvalidValue;
    const auto wanted = static_cast<std::size_t>(bytes);
    if (wanted + kernel.found->facts.static_shared > limits_.shared_per_block) return cudaErrorInvalidValue;
    kernel.most_dynamic_shared = wanted;
    return cudaSuccess;
}

cudaError_t Device::occupancy(HostKernel& kernel, int threads, std::size_t dynamic_shared, int& blocks) {
    if (const cudaError_t status = resolve(kernel); status != cudaSuccess) return status;
    if (threads <= 0) return cudaErrorInvalidValue;
    const int most = kernel.found->facts.max_threads > 0 ? kernel.found->facts.max_threads
                                                         : static_cast<int>(kMostThreads);
    blocks = threads > most || dynamic_shared > kernel.most_dynamic_shared
                 ? 0
                 : resident_blocks(limits_, threads, dynamic_shared + kernel.found->facts.static_shared);
    return cudaSuccess;
}

cudaError_t Device::checked_shape(const HostKernel& kernel, const LaunchShape& shape) const {
    constexpr std::array<std::uint64_t, 3> kMostBlocks{(1ULL << 31) - 1, 65535, 65535};
    constexpr std::array<std::uint64_t, 3> kMostAlong{1024, 1024, 64};
    std::uint64_t threads = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (shape.grid[axis] == 0 || shape.grid[axis] > kMostBlocks[axis])
            return cudaErrorInvalidConfiguration;
        if (shape.block[axis] == 0 || shape.block[axis] > kMostAlong[axis])
            return cudaErrorInvalidConfiguration;
        threads *= shape.block[axis];
    }
    if (threads > kMostThreads) return cudaErrorInvalidConfiguration;
    const KernelFacts& facts = kernel.found->facts;
    if (facts.max_threads > 0 && threads > static_cast<std::uint64_t>(facts.max_threads))
        return cudaErrorInvalidValue;
    if (shape.dynamic_shared > kernel.most_dynamic_shared) return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t Device::launch(HostKernel& kernel, const LaunchShape& shape, void** arguments,
                           StreamNumber stream) {
    if (const cudaError_t status = ready_for_use(stream); status != cudaSuccess) return status;
    if (const cudaError_t status = resolve(kernel); status != cudaSuccess) return status;
    if (const cudaError_t status = checked_shape(kernel, shape); status != cudaSuccess) return status;
    Launch launch{&kernel, shape, std::vector<std::byte>(kernel.found->facts.parameter_bytes)};
    std::size_t argument = 0;
    for (const auto& parameter : kernel.found->facts.parameters)
        std::memcpy(launch.parameters.data() + parameter.offset, arguments[argument++], parameter.bytes);
    return issue(stream,
                 [this, launch = std::move(launch)](bool in_graph) { return run_launch(launch, in_graph); });
}

std::vector<std::uint64_t> Device::likeness(const Launch& launch) {
    const LaunchShape& shape = launch.shape;
    std::vector<std::uint64_t> words{address_of(launch.kernel->found->kernel), shape.dynamic_shared};
    words.insert(words.end(), shape.grid.begin(), shape.grid.end());
    words.insert(words.end(), shape.block.begin(), shape.block.end());
    for (std::size_t at = 0; at < launch.parameters.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, launch.parameters.data() + at,
                    std::min(sizeof word, launch.parameters.size() - at));
        words.push_back(memory_.find(word, 1) == nullptr ? word : 0);
    }
    return words;
}

double Device::run_launch(const Launch& launch, bool in_graph) {
    if (death_ != cudaSuccess) return 0;
    const FoundKernel& found = *launch.kernel->found;
    KernelTotals& totals = report_.kernels[readable_name(launch.kernel->name)];
    ++totals.launches;
    totals.most_shared =
        std::max(totals.most_shared, found.facts.static_shared + launch.shape.dynamic_shared);
    Repeats* const repeats = in_graph && settings_.graph_runs != 0 ? &repeats_[likeness(launch)] : nullptr;
    if (repeats != nullptr && repeats->runs >= settings_.graph_runs) {
        ++totals.timed_only;
        totals.seconds += repeats->seconds;
        return repeats->seconds;
    }
    LaunchReport report;
    try {
        report = run(*found.kernel, launch.shape, launch.parameters, memory_,
                     {.seed = settings_.seed + launches_++,
                      .check_races = settings_.check_races,
                      .check_initialised = settings_.check_initialised});
    } catch (const std::exception& error) {
        die(cudaErrorLaunchFailure, fmt::format("{}: {}", readable_name(launch.kernel->name), error.what()));
        return 0;
    }
    add(totals, report);
    if (report.fault) {
        totals.faults.push_back(report.fault->message);
        die(status_of(report.fault->kind),
            fmt::format("{}: {}", readable_name(launch.kernel->name), report.fault->message));
    }
    const double seconds = launch_seconds(settings_.speeds, report,
                                          in_graph ? settings_.speeds.node_s : settings_.speeds.launch_s);
    if (repeats != nullptr) *repeats = {repeats->runs + 1, seconds};
    totals.seconds += seconds;
    return seconds;
}

// ---- memory

cudaError_t Device::allocate(std::size_t bytes, void*& at) {
    if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    at = nullptr;
    if (bytes == 0) return cudaSuccess;
    at = memory_.allocate(bytes);
    return at == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t Device::free(void* at) {
    if (at == nullptr) return cudaSuccess;
    if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    if (memory_.find(address_of(at), 1) == nullptr) return cudaErrorInvalidValue;
    streams_.wait_for_all();  // as CUDA does, because pending work may use the memory
    return memory_.free(at) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Device::allocate_host(std::size_t bytes, void*& at) {
    if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    at = nullptr;
    if (bytes == 0) return cudaSuccess;
    std::vector<std::byte> memory(bytes);
    at = memory.data();
    pinned_.emplace(address_of(at), std::move(memory));
    return cudaSuccess;
}

cudaError_t Device::free_host(void* at) {
    if (at == nullptr) return cudaSuccess;
    if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    const auto found = pinned_.find(address_of(at));
    if (found == pinned_.end()) return cudaErrorInvalidValue;
    streams_.wait_for_all();
    pinned_.erase(found);
    return cudaSuccess;
}

bool Device::is_pinned(const void* at, std::size_t bytes) const {
    auto next = pinned_.upper_bound(address_of(at));
    if (next == pinned_.begin()) return false;
    --next;
    return address_of(at) + bytes <= next->first + next->second.size();
}

cudaError_t Device::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                         StreamNumber stream, bool waits) {
    if (waits) {
        if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    }
    if (const cudaError_t status = ready_for_use(stream); status != cudaSuccess) return status;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!to_device && !from_device) return cudaErrorInvalidMemcpyDirection;
    if (bytes == 0) return cudaSuccess;
    // These conditions fail if a range of device memory is out of bounds, or if a pointer is one of the host
    // instead of the device or vice versa.
    if ((memory_.find(address_of(to), to_device ? bytes : 1) != nullptr) != to_device)
        return cudaErrorInvalidValue;
    if ((memory_.find(address_of(from), from_device ? bytes : 1) != nullptr) != from_device)
        return cudaErrorInvalidValue;
    Copy copy{kind, static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes};
    const void* const host = to_device ? from : to;
    const bool pageable = kind != cudaMemcpyDeviceToDevice && !is_pinned(host, bytes);
    const bool staged = pageable && to_device && !captures_.contains(stream);
    if (staged) {
        // The data is copied to a staging buffer during the call; cudaMemcpy does the earlier work of the
        // stream before that. The data arrives on the device when the stream reaches the copy. This also
        // holds for cudaMemcpy: when it returns, the data may not have arrived yet.
        if (waits) streams_.wait_for(stream);
        copy.staged = std::make_shared<const std::vector<std::byte>>(copy.from, copy.from + bytes);
    }
    const cudaError_t status = issue(stream, [this, copy](bool) { return run_copy(copy); });
    if (status != cudaSuccess) return status;
    if (waits && !staged && kind != cudaMemcpyDeviceToDevice) streams_.wait_for(stream);
    return death_;
}

double Device::run_copy(const Copy& copy) {
    if (death_ != cudaSuccess) return 0;
    const bool to_device = copy.kind != cudaMemcpyDeviceToHost;
    const bool from_device = copy.kind != cudaMemcpyHostToDevice;
    Allocation* const to = to_device ? memory_.find(address_of(copy.to), copy.bytes) : nullptr;
    const Allocation* const from = from_device ? memory_.find(address_of(copy.from), copy.bytes) : nullptr;
    if ((to_device && to == nullptr) || (from_device && from == nullptr)) {
        die(cudaErrorIllegalAddress,
            fmt::format("a copy of {} bytes used memory that had been freed", copy.bytes));
        return 0;
    }
    const auto from_offset = from == nullptr ? 0 : static_cast<std::size_t>(copy.from - from->data());
    if (!to_device && !from->is_written(from_offset, copy.bytes)) {
        const std::size_t at = first_unwritten(*from, from_offset, copy.bytes);
        complain(fmt::format(
            "a copy of {} bytes to the host reads bytes that were never written; the first is byte {} of the "
            "copy and byte {} of its allocation of {} bytes",
            copy.bytes, at, from_offset + at, from->bytes()));
    }
    std::memcpy(copy.to, copy.staged ? copy.staged->data() : copy.from, copy.bytes);
    if (to != nullptr) {
        const auto offset = static_cast<std::size_t>(copy.to - to->data());
        if (from == nullptr) {
            to->mark_written(offset, copy.bytes);
        } else {
            carry_written(*from, from_offset, *to, offset, copy.bytes);
        }
    }
    const double speed = from_device && to_device ? settings_.speeds.memory_bytes_per_s / 2
                                                  : settings_.speeds.copy_bytes_per_s;
    return settings_.speeds.copy_s + static_cast<double>(copy.bytes) / speed;
}

cudaError_t Device::set(void* at, int value, std::size_t bytes, StreamNumber stream) {
    if (const cudaError_t status = ready_for_use(stream); status != cudaSuccess) return status;
    if (bytes == 0) return cudaSuccess;
    if (memory_.find(address_of(at), bytes) == nullptr) return cudaErrorInvalidValue;
    return issue(stream, [this, at, value, bytes](bool) {
        return run_set(static_cast<std::byte*>(at), value, bytes);
    });
}

double Device::run_set(std::byte* at, int value, std::size_t bytes) {
    if (death_ != cudaSuccess) return 0;
    if (!memory_.mark_written(at, bytes)) {
        die(cudaErrorIllegalAddress,
            fmt::format("a memset of {} bytes used memory that had been freed", bytes));
        return 0;
    }
    std::memset(at, value, bytes);
    return std::max(settings_.speeds.node_s,
                    static_cast<double>(bytes) / settings_.speeds.memory_bytes_per_s);
}

// ---- streams

cudaError_t Device::ready_for_use(StreamNumber stream) {
    if (death_ != cudaSuccess) return death_;
    if (!streams_.has(stream)) return cudaErrorInvalidResourceHandle;
    const auto own = captures_.find(stream);
    if (own != captures_.end()) return own->second.invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    if (stream != kLegacyStream || captures_.empty()) return cudaSuccess;
    // CUDA allows work on the legacy stream during the capture of a non-blocking stream. It is refused here,
    // because it is probably a mistake: work that was meant for the graph would run once and immediately.
    for (auto& [number, capture] : captures_) capture.invalid = true;
    const bool waited_for = std::any_of(captures_.begin(), captures_.end(), [&](const auto& capture) {
        return streams_.is_blocking(capture.first);
    });
    return waited_for ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported;
}

cudaError_t Device::refuse_while_capturing() {
    if (death_ != cudaSuccess) return death_;
    cudaError_t status = cudaSuccess;
    for (auto& [number, capture] : captures_) {
        if (capture.mode == Capturing::relaxed) continue;
        capture.invalid = true;
        status = cudaErrorStreamCaptureUnsupported;
    }
    return status;
}

cudaError_t Device::issue(StreamNumber stream, Node node) {
    const auto capture = captures_.find(stream);
    if (capture != captures_.end()) {
        capture->second.nodes.push_back(std::move(node));
        return cudaSuccess;
    }
    streams_.enqueue(stream, [node = std::move(node)](double) { return node(false); });
    return cudaSuccess;
}

cudaError_t Device::create_stream(bool blocking, StreamNumber& stream) {
    if (death_ != cudaSuccess) return death_;
    stream = streams_.create(blocking);
    return cudaSuccess;
}

cudaError_t Device::destroy_stream(StreamNumber stream) {
    if (death_ != cudaSuccess) return death_;
    captures_.erase(stream);
    return streams_.destroy(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t Device::wait_for_stream(StreamNumber stream) {
    if (death_ != cudaSuccess) return death_;
    if (!streams_.has(stream)) return cudaErrorInvalidResourceHandle;
    if (captures_.contains(stream)) {
        captures_.at(stream).invalid = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    if (stream == kLegacyStream) {
        if (const cudaError_t status = ready_for_use(stream); status != cudaSuccess) return status;
    }
    streams_.wait_for(stream);
    return death_;
}

cudaError_t Device::wait_for_all() {
    if (death_ != cudaSuccess) return death_;
    if (!captures_.empty()) {
        for (auto& [number, capture] : captures_) capture.invalid = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    streams_.wait_for_all();
    return death_;
}

// ---- events

Number Device::create_event() {
    events_[++numbers_] = std::make_shared<Event>();
    return numbers_;
}

cudaError_t Device::destroy_event(Number event) {
    if (death_ != cudaSuccess) return death_;
    return events_.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t Device::record(Number event, StreamNumber stream) {
    const auto found = events_.find(event);
    if (death_ == cudaSuccess && found == events_.end()) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = ready_for_use(stream); status != cudaSuccess) return status;
    found->second->captured = captures_.contains(stream);
    found->second->place = {};
    if (found->second->captured) return cudaSuccess;
    // Each call makes a new Event object, so that pending work of an earlier call cannot change the time of
    // this one.
    found->second = std::make_shared<Event>(*found->second);
    found->second->place = streams_.enqueue(stream, [event = found->second](double begin_s) {
        event->at_s = begin_s;
        return 0.0;
    });
    return cudaSuccess;
}

cudaError_t Device::wait_for_event(Number event) {
    if (death_ != cudaSuccess) return death_;
    const auto found = events_.find(event);
    if (found == events_.end()) return cudaErrorInvalidResourceHandle;
    if (found->second->captured) return cudaErrorCapturedEvent;
    if (found->second->place.ticket != 0) streams_.wait_for(found->second->place);
    return death_;
}

cudaError_t Device::elapsed(Number begin, Number end, float& milliseconds) {
    if (death_ != cudaSuccess) return death_;
    const auto from = events_.find(begin);
    const auto to = events_.find(end);
    if (from == events_.end() || to == events_.end()) return cudaErrorInvalidResourceHandle;
    for (const auto& event : {from->second, to->second}) {
        if (event->place.ticket == 0) return cudaErrorInvalidResourceHandle;
        if (!streams_.is_done(event->place)) return cudaErrorNotReady;
    }
    milliseconds = static_cast<float>((to->second->at_s - from->second->at_s) * 1e3);
    return cudaSuccess;
}

// ---- graphs

cudaError_t Device::begin_capture(StreamNumber stream, Capturing mode) {
    if (death_ != cudaSuccess) return death_;
    if (!streams_.has(stream)) return cudaErrorInvalidResourceHandle;
    if (stream == kLegacyStream) return cudaErrorStreamCaptureUnsupported;
    if (captures_.contains(stream)) return cudaErrorIllegalState;
    captures_[stream] = {.mode = mode};
    return cudaSuccess;
}

cudaError_t Device::end_capture(StreamNumber stream, Number& graph) {
    graph = 0;
    if (death_ != cudaSuccess) return death_;
    if (!streams_.has(stream)) return cudaErrorInvalidResourceHandle;
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return cudaErrorIllegalState;
    const Capture capture = std::move(found->second);
    captures_.erase(found);
    if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
    graphs_[++numbers_] = capture.nodes;
    graph = numbers_;
    return cudaSuccess;
}

cudaError_t Device::nodes_of(Number graph, std::size_t& nodes) const {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return cudaErrorInvalidValue;
    nodes = found->second.size();
    return cudaSuccess;
}

cudaError_t Device::destroy_graph(Number graph) {
    if (death_ != cudaSuccess) return death_;
    return graphs_.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Device::instantiate(Number graph, Number& executable) {
    if (const cudaError_t status = refuse_while_capturing(); status != cudaSuccess) return status;
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return cudaErrorInvalidValue;
    executables_[++numbers_] = std::make_shared<Executable>(Executable{found->second});
    executable = numbers_;
    return cudaSuccess;
}

cudaError_t Device::upload(Number executable, StreamNumber stream) {
    if (!executables_.contains(executable)) return cudaErrorInvalidValue;
    return captures_.contains(stream) ? cudaErrorStreamCaptureUnsupported : ready_for_use(stream);
}

cudaError_t Device::launch_graph(Number executable, StreamNumber stream) {
    if (const cudaError_t status = upload(executable, stream); status != cudaSuccess) return status;
    const std::shared_ptr<Executable> graph = executables_.at(executable);
    const auto run_nodes = [graph](double) {
        double seconds = 0;
        for (const Node& node : graph->nodes) seconds += node(true);
        return seconds;
    };
    // A graph never runs concurrently with itself.
    graph->last = streams_.enqueue(stream, run_nodes, graph->last);
    return cudaSuccess;
}

cudaError_t Device::destroy_executable(Number executable) {
    if (death_ != cudaSuccess) return death_;
    return executables_.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace paretoken::virtual_gpu
