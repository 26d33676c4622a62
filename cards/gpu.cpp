#include "cards/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "cards/card_file.h"
#include "cards/json_value.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/nearest.h"

namespace paretoken::cards {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

/// The words of a text in lower case, of letters and digits: "NVIDIA H100-PCIe 80 GB" → nvidia, h100, pcie,
/// 80gb.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte))
            words.back() += static_cast<char>(std::tolower(byte));
        else if (!words.back().empty())
            words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    for (std::size_t i = 1; i < words.size(); ++i) {
        const bool is_size = words[i] == "gb" && std::ranges::all_of(words[i - 1], [](unsigned char c) {
                                 return std::isdigit(c) != 0;
                             });
        if (!is_size) continue;
        words[i - 1] += "gb";
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return words;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// The number of words of `alias` if `words` contain all of them, otherwise 0.
std::size_t matched_words(const std::vector<std::string>& words, std::string_view alias) {
    const auto wanted = words_of(alias);
    const bool all =
        std::ranges::all_of(wanted, [&](const std::string& word) { return contains(words, word); });
    return all ? wanted.size() : 0;
}

/// Words that makers append to a model's number for a different product: other memory, other clocks, a slice
/// of the GPU. A card without the word is not the card of that product.
constexpr std::array<std::string_view, 17> kVariantWords{"nvl",   "pcie",   "sxm", "ti",    "super", "laptop",
                                                         "max",   "mobile", "d",   "dd",    "v2",    "hbm2",
                                                         "hbm2e", "ada",    "mig", "ultra", "cnx"};

/// The word without a generation of SXM: "sxm4" → "sxm".
std::string_view without_generation(std::string_view word) {
    return word.starts_with("sxm") && word.size() == 4 ? word.substr(0, 3) : word;
}

/// The gigabytes in a word: "80gb" → 80.
std::optional<double> gigabytes(std::string_view word) {
    if (word.size() < 3 || !word.ends_with("gb")) return {};
    double value = 0;
    for (const char c : word.substr(0, word.size() - 2)) {
        if (!std::isdigit(static_cast<unsigned char>(c))) return {};
        value = value * 10 + (c - '0');
    }
    return value;
}

/// Whether the words name a variant of the product that the card does not describe.
bool is_another_variant(const GpuCard& card, const std::vector<std::string>& words) {
    std::vector<std::string> own = words_of(card.name + " " + card.title);
    for (const std::string& alias : card.aliases)
        for (std::string& word : words_of(alias)) own.push_back(std::move(word));
    for (std::string& word : own) word = without_generation(word);
    return std::ranges::any_of(words, [&](const std::string& word) {
        if (const auto memory = gigabytes(word)) return *memory * kGiga != card.memory_bytes;
        const std::string_view bare = without_generation(word);
        const bool variant = std::ranges::find(kVariantWords, bare) != kVariantWords.end();
        return variant && !contains(own, bare);
    });
}

GpuCard parse_gpu_card(std::string_view text, const std::string& name) {
    const JsonValue value = parse_json_value(text, name);
    const JsonCursor root(value, name);
    root.expect_only({"title", "aliases", "memory_gb", "memory_gib_reported", "memory_gb_per_s",
                      "dense_tflops", "cores", "tdp_w", "link", "link_gb_per_s", "source", "as_of"});
    GpuCard card;
    card.name = name;
    card.title = root.at("title", "a name for people").string();
    for (const JsonCursor& alias : root.at("aliases", "a list of names").elements())
        card.aliases.push_back(alias.string());
    card.memory_bytes = root.at("memory_gb", "gigabytes").positive() * kGiga;
    card.reported_bytes =
        root.at("memory_gib_reported", "GiB that the driver reports").positive() * kGibibyte;
    card.memory_bytes_per_s = root.at("memory_gb_per_s", "gigabytes per second").positive() * kGiga;
    for (const auto& [dtype, tera] : root.at("dense_tflops", "TFLOPS by dtype").members())
        card.flops[dtype] = tera.positive() * kTera;
    if (const auto cores = root.find("cores")) {
        constexpr std::uint64_t kMost = 65535;
        const std::uint64_t count = cores->count();
        if (count == 0 || count > kMost)
            throw UsageError(fmt::format("{}: \"cores\" is {}; it must be from 1 to {}", name, count, kMost));
        card.cores = static_cast<std::uint32_t>(count);
    }
    if (const auto watts = root.find("tdp_w")) card.tdp_w = watts->positive();
    if (const auto link = root.find("link")) card.link = link->string();
    if (const auto link = root.find("link_gb_per_s")) card.link_bytes_per_s = link->positive() * 1e9;
    card.source = root.at("source", "where the figures come from").string();
    card.as_of = root.at("as_of", "the month of the source").string();
    return card;
}

const std::vector<GpuCard>& shipped_gpus() {
    static const std::vector<GpuCard> cards = [] {
        std::vector<GpuCard> out;
        for (const std::string& name : shipped_cards("gpus"))
            out.push_back(parse_gpu_card(shipped_card("gpus", name).value(), name));
        return out;
    }();
    return cards;
}

/// The number of words of the longest name or alias of a card that `words` contain.
std::size_t match_of(const GpuCard& card, const std::vector<std::string>& words) {
    std::size_t longest = matched_words(words, card.name);
    for (const std::string& alias : card.aliases) longest = std::max(longest, matched_words(words, alias));
    return longest;
}

/// Splits a count from a name: "h200x2" → ("h200", 2). A count has at most 3 digits, so that "rtx5090" is not
/// 5090 of something.
std::optional<std::pair<std::string, std::uint32_t>> split_count(std::string_view text) {
    std::size_t digits = text.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
    if (digits == text.size() || digits < 2 || text.size() - digits > 3) return {};
    if (text[digits - 1] != 'x' && text[digits - 1] != 'X') return {};
    std::string_view name = text.substr(0, digits - 1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty()) return {};
    return std::pair(std::string(name),
                     static_cast<std::uint32_t>(std::stoul(std::string(text.substr(digits)))));
}

}  // namespace

// A count, as in "h200x2", is ignored. If several cards match, the one whose matching name or alias has the
// most words wins. Words such as "NVL", "Laptop" or "MIG", or another size of memory, show that a text names
// a variant.
std::optional<GpuCard> find_gpu(std::string_view text) {
    auto words = words_of(text);
    for (std::size_t i = 0, given = words.size(); i < given; ++i)  // "h200x2" also names an h200
        if (const auto counted = split_count(words[i])) words.push_back(counted->first);
    const GpuCard* best = nullptr;
    std::size_t best_match = 0;
    bool tied = false;
    for (const GpuCard& card : shipped_gpus()) {
        if (card.name == text) return card;
        const std::size_t match = match_of(card, words);
        if (match == 0 || match < best_match || is_another_variant(card, words)) continue;
        tied = match == best_match;
        best = &card;
        best_match = match;
    }
    if (best == nullptr || tied) return {};
    return *best;
}

std::string letters_and_digits(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)))
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string normalised_hardware(std::string_view name) {
    if (const auto gpu = find_gpu(name); gpu && !name.starts_with("sim:")) return gpu->name;
    return letters_and_digits(name);
}

GpuCard read_cpu_card(const std::filesystem::path& path) {
    GpuCard card = parse_gpu_card(read_card_file(path), path.string());
    const auto f32 = card.flops.find("f32");
    if (!card.cores || f32 == card.flops.end())
        throw UsageError(fmt::format(
            "{}: the card of a CPU needs \"cores\" and \"f32\" in \"dense_tflops\"; paretoken micro --card "
            "FILE writes one",
            path.string()));
    for (const char* const arithmetic : {"bf16", "f16", "fp8", "int8"})
        card.flops.emplace(arithmetic, f32->second);
    return card;
}

std::string cpu_card_text(const GpuCard& card) {
    nlohmann::ordered_json text{{"title", card.title},
                                {"aliases", card.aliases},
                                {"cores", card.cores.value_or(1)},
                                {"memory_gb", card.memory_bytes / kGiga},
                                {"memory_gib_reported", card.reported_bytes / kGibibyte},
                                {"memory_gb_per_s", card.memory_bytes_per_s / kGiga}};
    for (const auto& [dtype, flops] : card.flops) text["dense_tflops"][dtype] = flops / kTera;
    text["source"] = card.source;
    text["as_of"] = card.as_of;
    return text.dump(2) + "\n";
}

GpuCard gpu_card(std::string_view text) {
    if (auto card = find_gpu(text)) return *card;
    throw UsageError(fmt::format("{}: no such GPU card; known are {}", text, fmt::join(known_gpus(), ", ")));
}

GpuSpec parse_gpu_spec(std::string_view text) {
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    if (text.empty()) throw UsageError("--gpu: expected a name such as h200 or h200x2, got nothing");
    GpuSpec spec{std::string(text), 1};
    if (const auto split = split_count(text); split && (find_gpu(split->first) || !find_gpu(text)))
        spec = {split->first, split->second};
    if (spec.count == 0) throw UsageError(fmt::format("--gpu {}: expected at least one", text));
    if (const auto card = find_gpu(spec.name)) spec.name = card->name;
    return spec;
}

void require_known_gpu(std::string_view text, std::string_view cpu) {
    constexpr std::string_view kOther = "other:";
    const GpuSpec spec = parse_gpu_spec(text);
    const std::string given = letters_and_digits(spec.name);
    if (find_gpu(spec.name) || spec.name.starts_with(kOther) || given == letters_and_digits(cpu)) return;
    const std::vector<std::string> known = known_gpus();
    std::vector<std::string> similar;
    for (const std::string& name : known) {
        const std::string plain = letters_and_digits(name);
        const bool is_part = given.size() > 1 && (plain.find(given) != std::string::npos ||
                                                  given.find(plain) != std::string::npos);
        if (is_part || (given.size() > 3 && edit_distance(given, plain.substr(0, given.size())) <= 1))
            similar.push_back(name);
    }
    const std::string meant =
        similar.empty() ? "" : fmt::format("Did you mean {}? ", fmt::join(similar, " or "));
    throw UsageError(
        fmt::format("--gpu {}: there is no card of this hardware, so that no limit and no price would be "
                    "known. {}There are cards of {}. {}{} gives it a name all the same",
                    text, meant, fmt::join(known, ", "), kOther, spec.name));
}

std::span<const std::string_view> arithmetic_for_weights(std::string_view weight_dtype) {
    static constexpr std::string_view kFp4[] = {"fp4", "fp8", "bf16", "f16"};
    static constexpr std::string_view kFp8[] = {"fp8", "bf16", "f16"};
    static constexpr std::string_view kBf16[] = {"bf16", "f16"};
    static constexpr std::string_view kF16[] = {"f16", "bf16"};
    static constexpr std::string_view kInt8[] = {"int8", "fp8", "bf16", "f16"};
    const NumberFormat* const format = find_format(weight_dtype);
    switch (format == nullptr ? Arithmetic::int8 : format->arithmetic) {
        case Arithmetic::fp4:
            return kFp4;
        case Arithmetic::fp8:
            return kFp8;
        case Arithmetic::bf16:
            return kBf16;
        case Arithmetic::f16:
        case Arithmetic::f32:
        case Arithmetic::f64:
            return kF16;
        case Arithmetic::int8:
            return kInt8;
    }
    return {};
}

std::optional<GpuFlops> flops_for_weights(const GpuCard& card, std::string_view weight_dtype) {
    for (const std::string_view arithmetic : arithmetic_for_weights(weight_dtype))
        if (const auto found = card.flops.find(std::string(arithmetic)); found != card.flops.end())
            return GpuFlops{found->first, found->second};
    return {};
}

std::vector<std::string> known_gpus() {
    return shipped_cards("gpus");
}

}  // namespace paretoken::cards
