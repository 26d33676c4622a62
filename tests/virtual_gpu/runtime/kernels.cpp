#include "tests/virtual_gpu/runtime/kernels.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "core/error.h"

namespace paretoken::virtual_gpu {
namespace {

constexpr std::string_view kUnnamed = "_GLOBAL__N_";

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw RuntimeError(fmt::format("{}: cannot be read", path.string()));
    std::string text(std::filesystem::file_size(path), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
}

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

/// The subfolder of the highest architecture that is not above `capability`; empty if there is none.
std::filesystem::path best_below(const std::filesystem::path& folder, int capability) {
    std::filesystem::path best;
    int best_capability = 0;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("sm_")) continue;
        const int its = std::atoi(name.c_str() + 3);
        if (its > capability || its <= best_capability) continue;
        best = entry.path();
        best_capability = its;
    }
    return best;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

}  // namespace

std::string settled_name(std::string_view mangled) {
    std::string result;
    while (true) {
        // Example: "44_GLOBAL__N__e22a9996_11_ceilings_cu_2f8b286e". 44 is the length of the rest, and the
        // file name stands between the two hashes.
        const std::size_t at = mangled.find(kUnnamed);
        if (at == std::string_view::npos) return result.append(mangled);
        std::size_t digits = at;
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(mangled[digits - 1])) != 0) --digits;
        std::size_t length = 0;
        std::from_chars(mangled.data() + digits, mangled.data() + at, length);
        std::string_view part = mangled.substr(at, length);
        const auto file =
            part.size() > kUnnamed.size() + 10 ? part.substr(kUnnamed.size() + 10) : std::string_view{};
        result.append(mangled.substr(0, digits)).append(kUnnamed).append(file.substr(0, file.rfind('_')));
        mangled.remove_prefix(std::min(mangled.size(), at + std::max(length, kUnnamed.size())));
    }
}

std::string readable_name(std::string_view mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
    if (status != 0) return std::string(mangled);
    std::string name = text.get();
    replace_all(name, "(anonymous namespace)::", "");
    replace_all(name, "paretoken::microbench::gpu::", "");
    return name;
}

std::vector<std::string> entries_of(std::string_view ptx) {
    constexpr std::string_view kEntry = ".entry ";
    std::vector<std::string> names;
    for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at)) {
        at += kEntry.size();
        std::size_t end = at;
        while (end < ptx.size() && is_name_character(ptx[end])) ++end;
        names.emplace_back(ptx.substr(at, end - at));
        at = end;
    }
    return names;
}

KernelFolder::KernelFolder(const std::filesystem::path& folder, int capability) {
    const auto chosen = best_below(folder, capability);
    if (chosen.empty()) {
        throw RuntimeError(
            fmt::format("{} has no folder with PTX from sm_80 to sm_{}: build the target virtual_gpu_ptx",
                        folder.string(), capability));
    }
    for (const auto& entry : std::filesystem::directory_iterator(chosen)) {
        if (entry.path().extension() == ".ptx") files_.push_back({entry.path(), nullptr});
    }
    std::sort(files_.begin(), files_.end(), [](const File& a, const File& b) { return a.path < b.path; });
    for (std::size_t file = 0; file < files_.size(); ++file) {
        for (const std::string& name : entries_of(text_of(files_[file].path)))
            entries_.try_emplace(settled_name(name), Entry{.file = file, .name = name});
    }
}

const FoundKernel* KernelFolder::find(std::string_view mangled) {
    const auto entry = entries_.find(settled_name(mangled));
    if (entry == entries_.end()) return nullptr;
    FoundKernel& found = entry->second.found;
    if (found.kernel != nullptr) return &found;
    File& file = files_[entry->second.file];
    if (!file.module)
        file.module = std::make_unique<LoadedModule>(text_of(file.path), file.path.filename().string());
    found.kernel = file.module->find(entry->second.name);
    if (found.kernel == nullptr) return nullptr;
    found.facts = facts_of(*found.kernel);
    return &found;
}

}  // namespace paretoken::virtual_gpu
