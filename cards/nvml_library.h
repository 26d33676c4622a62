#pragma once
// NVIDIA's management library (NVML), loaded at run time; functions are found by name. It is used only for
// reading. Function names and types are those of its API reference.
#include <dlfcn.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace paretoken::cards {

class NvmlLibrary {
  public:
    using Device = void*;
    static constexpr int kSuccess = 0;      ///< NVML_SUCCESS
    static constexpr int kSmClock = 1;      ///< NVML_CLOCK_SM
    static constexpr int kMemoryClock = 2;  ///< NVML_CLOCK_MEM

    struct Memory {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };

    /// Loads the library of this file name and initialises it; if one of the two fails, ready() is false.
    explicit NvmlLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle_) return;
        const auto init = function<int (*)()>("nvmlInit_v2");
        shutdown_ = function<int (*)()>("nvmlShutdown");
        ready_ = init != nullptr && shutdown_ != nullptr && init() == kSuccess;
    }
    ~NvmlLibrary() {
        if (ready_) shutdown_();
    }
    NvmlLibrary(const NvmlLibrary&) = delete;
    NvmlLibrary& operator=(const NvmlLibrary&) = delete;

    /// Returns whether the functions below may be called.
    bool ready() const { return ready_; }

    /// The library's function with this name; null when there is none.
    template <class Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(dlsym(handle_.get(), name));
    }
    /// A text that a function writes into a buffer; empty when the function fails.
    template <class... Arguments>
    std::string text(const char* name, Arguments... arguments) const {
        constexpr unsigned kLongest = 128;
        std::array<char, kLongest> buffer{};
        const auto ask = function<int (*)(Arguments..., char*, unsigned)>(name);
        if (ask == nullptr || ask(arguments..., buffer.data(), kLongest) != kSuccess) return {};
        return {buffer.data()};
    }
    /// A value that a function writes to its last argument; nothing when the function fails.
    template <class Value, class... Arguments>
    std::optional<Value> value(const char* name, Arguments... arguments) const {
        Value answer{};
        const auto ask = function<int (*)(Arguments..., Value*)>(name);
        if (ask == nullptr || ask(arguments..., &answer) != kSuccess) return {};
        return answer;
    }

  private:
    struct Close {
        void operator()(void* library) const { dlclose(library); }
    };

    std::unique_ptr<void, Close> handle_;
    int (*shutdown_)() = nullptr;
    bool ready_ = false;
};

}  // namespace paretoken::cards
