#include "cards/config/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cards/config/values.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

constexpr std::string_view kRemedy = "(or give one type for all weights with CARD:weights=TYPE)";

std::string int_dtype(const JsonCursor& bits) {
    switch (bits.count()) {
        case 4:
            return "int4";
        case 8:
            return "int8";
        default:
            bits.complain("4 or 8 bits (or give one type for all weights with CARD:weights=TYPE)");
    }
}

/// An integer format whose groups of values have a scale of 16 bits each and, unless they are symmetric, a
/// zero point of as many bits as a value. A group size of 0 or -1 means one scale per row.
Stored grouped(const JsonCursor& bits, const JsonCursor& settings, double default_group, bool zero_points) {
    constexpr double kScaleBytes = 2;
    const auto size = settings.find("group_size");
    const double group = size ? size->number() : default_group;
    const double bytes = kScaleBytes + (zero_points ? static_cast<double>(bits.count()) / 8 : 0);
    if (!(group > 0)) return {int_dtype(bits)};
    return {int_dtype(bits), bytes / group, static_cast<std::uint64_t>(group)};
}

/// The width of the blocks with one scale that a pair of numbers states; 0 without it.
std::uint64_t block_of(const JsonCursor& settings, const std::string& key) {
    const auto sizes = settings.find(key);
    return sizes && sizes->is_array() && !sizes->elements().empty() ? extent_of(sizes->elements().back()) : 0;
}

/// The format of a group of compressed-tensors. Its strategy decides whether groups of values have scales.
Stored stored_in_group(const JsonCursor& group) {
    const JsonCursor weights = group.at("weights", "num_bits and type");
    const JsonCursor bits = weights.at("num_bits", "4 or 8");
    const auto type = weights.find("type");
    const auto size = weights.find("group_size");
    const double per_group = size ? size->number() : 0;
    constexpr double kMicroscaled = 32;  // values per scale in the formats of the OCP
    constexpr double kNvidia = 16;
    if (!type || type->string() != "float")
        return grouped(bits, weights, 0, !flag(weights, "symmetric", true));
    if (bits.count() == 8)
        return {per_group == kMicroscaled ? "mxfp8" : "fp8", 0, block_of(weights, "block_structure")};
    if (bits.count() != 4) bits.complain(fmt::format("4 or 8 bits {}", kRemedy));
    if (per_group == kMicroscaled) return {"mxfp4", 0};
    if (per_group != 0 && per_group != kNvidia)
        size->complain(fmt::format("16 (nvfp4) or 32 (mxfp4) values per scale {}", kRemedy));
    return {"nvfp4", 0};
}

/// ModelOpt's names of algorithms in the spelling of TensorRT-LLM, each with the storage type of the weights.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kModelOptAlgorithms{{
    {"FP8", "fp8"},
    {"FP8_PER_CHANNEL_PER_TOKEN", "fp8"},
    {"FP8_BLOCK_SCALES", "fp8"},
    {"FP8_PB_WO", "fp8"},
    {"NVFP4", "nvfp4"},
    {"W4A8_MXFP4_FP8", "mxfp4"},
    {"W4A16_MXFP4", "mxfp4"},
    {"W4A16", "int4"},
    {"W4A16_AWQ", "int4"},
    {"W4A8_AWQ", "int4"},
    {"W8A16", "int8"},
    {"W8A8_SQ_PER_CHANNEL", "int8"},
    {"INT8", "int8"},
}};

/// The type of the weights in ModelOpt's format; `base` if only the KV cache is quantised.
std::string modelopt_dtype(const JsonCursor& quantization, const std::string& base) {
    const auto found = quantization.find("quant_algo");
    if (!found || found->string() == "NO_QUANT") return base;
    const std::string algorithm = found->string();
    for (const auto& [name, dtype] : kModelOptAlgorithms)
        if (name == algorithm) return std::string(dtype);
    found->complain(fmt::format("a known algorithm of ModelOpt {}", kRemedy));
}

/// The type of the KV cache that a config states under the name of vLLM's option. Nothing if it is "auto" or
/// not known.
std::optional<std::string> kv_dtype_option_of(const JsonCursor& config) {
    const auto stated = config.find("kv_cache_dtype");
    if (!stated || !stated->is_string()) return {};
    const std::string name = stated->string();
    if (name.starts_with("fp8")) return "fp8";  // fp8_e4m3 and fp8_e5m2 have the same size
    if (const NumberFormat* dtype = find_format(name)) return std::string(dtype->name);
    return {};
}

// ---- rules

/// The number after "layers." or another name for the list of layers, in a name or pattern. With `whole`, a
/// number is ignored after which a pattern may have further digits.
std::optional<std::uint64_t> layer_in(std::string_view text, bool whole = true) {
    for (const std::string_view list : {"layers", ".h", "blocks"}) {
        auto at = text.find(list);
        if (at == std::string_view::npos) continue;
        at += list.size();
        while (at < text.size() && (text[at] == '.' || text[at] == '\\')) ++at;
        std::uint64_t number = 0;
        std::size_t end = at;
        for (; end < text.size() && end < at + 6 && std::isdigit(static_cast<unsigned char>(text[end])) != 0;
             ++end)
            number = number * 10 + static_cast<std::uint64_t>(text[end] - '0');
        const bool ends = end == text.size() || text[end] == '.' || text[end] == '\\';
        if (end > at && (ends || !whole)) return number;
    }
    return {};
}

/// The part of a name after the number of its layer: "model.layers.3.mlp.up_proj" → "mlp.up_proj".
std::string after_layer(const std::string& name) {
    for (const std::string list : {"layers.", ".h.", "blocks."})
        if (const auto at = name.find(list); at != std::string::npos) {
            const auto dot = name.find('.', at + list.size());
            return dot == std::string::npos ? "" : name.substr(dot + 1);
        }
    return name;
}

/// Whether the numbered layer of a name belongs to the language model, and not to a tower for images or
/// sound.
bool is_of_language(const std::string& name) {
    constexpr std::array<std::string_view, 8> kTowers{"vision", "visual", "vpm", "audio",
                                                      "apm",    "speech", "tts", "image"};
    return std::ranges::none_of(
        kTowers, [&](std::string_view tower) { return name.find(tower) != std::string::npos; });
}

enum class Syntax : std::uint8_t {
    regular,  ///< a regular expression
    name      ///< a name, a regular expression after "re:", or a shell pattern with "*"
};

NameRule rule_of(const JsonCursor& where, const std::string& text, Syntax syntax, Stored stored, int rank) {
    NameRule rule{.where = where,
                  .text = text,
                  .pattern = {},
                  .layer = layer_in(text),
                  .stored = std::move(stored),
                  .rank = rank};
    const bool marked = syntax == Syntax::name && text.starts_with("re:");
    const bool has_star = text.find('*') != std::string::npos;
    try {
        if (syntax == Syntax::regular || marked)
            rule.pattern = NamePattern::regular(std::string_view(text).substr(marked ? 3 : 0));
        else if (has_star)
            rule.pattern = NamePattern::shell(text);
        else if (rule.layer && is_of_language(text))
            rule.text = after_layer(text);
    } catch (const std::invalid_argument&) {
        where.complain(
            fmt::format("a pattern of module names that is understood, unlike \"{}\" {}", text, kRemedy));
    }
    return rule;
}

/// Adds a rule for every text of a list, or of a list of lists.
void add_rules(Recipe& recipe, const JsonCursor& list, const Stored& stored, int rank) {
    for (const JsonCursor& entry : list.elements()) {
        if (entry.is_array())
            add_rules(recipe, entry, stored, rank);
        else
            recipe.rules.push_back(rule_of(entry, entry.string(), Syntax::name, stored, rank));
    }
}

/// Reads config_groups of compressed-tensors. A name comes before a pattern, and that before a class.
void read_groups(Recipe& recipe, const JsonCursor& quantization) {
    if (const auto sparse = quantization.find("sparsity_config"); sparse && sparse->is_object())
        if (const auto format = sparse->find("format"); format && format->string() != "dense")
            format->complain(
                fmt::format("\"dense\", because the size of sparse weights is not known {}", kRemedy));
    const JsonCursor groups = quantization.at("config_groups", "groups with weights");
    bool any = false;
    for (const auto& [name, group] : groups.members()) {
        if (!group.find("weights")) continue;
        const Stored stored = stored_in_group(group);
        any = true;
        const auto add = [&](const JsonCursor& where, const std::string& text, bool linear) {
            recipe.rules.push_back(rule_of(where, linear ? "re:" : text, Syntax::name, stored, 0));
            NameRule& rule = recipe.rules.back();
            rule.rank = linear ? 3 : rule.pattern ? 2 : 1;
        };
        const auto targets = group.find("targets");
        if (!targets) add(group, "Linear", true);
        for (const JsonCursor& target : targets ? targets->elements() : std::vector<JsonCursor>())
            add(target, target.string(), target.string() == "Linear");
    }
    if (!any && !quantization.find("kv_cache_scheme"))
        quantization.complain("at least one config group with weights");
}

/// Reads GPTQ's rules by name: "-:" leaves modules alone, and all others change bits or group size.
void read_dynamic(Recipe& recipe, const JsonCursor& quantization) {
    const auto dynamic = quantization.find("dynamic");
    if (!dynamic || !dynamic->is_object()) return;
    for (const auto& [key, changed] : dynamic->members()) {
        const bool alone = key.starts_with("-:");
        const std::string pattern = alone || key.starts_with("+:") ? key.substr(2) : key;
        const auto bits = alone ? std::nullopt : changed.find("bits");
        const JsonCursor& sized = !alone && changed.find("group_size") ? changed : quantization;
        const Stored stored =
            alone ? Stored{recipe.base}
                  : grouped(bits ? *bits : quantization.at("bits", "4 or 8"), sized, 128, true);
        recipe.rules.push_back(rule_of(changed, pattern, Syntax::regular, stored, 1));
        recipe.rules.back().head = true;
    }
}

/// Reads AutoRound's settings of single modules. 16 bits and more mean that a module is not quantised.
void read_extra(Recipe& recipe, const JsonCursor& quantization) {
    constexpr std::uint64_t kWhole = 16;
    if (const auto type = quantization.find("data_type"); type && !type->string().starts_with("int"))
        type->complain(fmt::format("integers {}", kRemedy));
    const auto extra = quantization.find("extra_config");
    if (!extra) return;
    for (const auto& [key, changed] : extra->members()) {
        const auto stated = changed.find("bits");
        const JsonCursor bits = stated ? *stated : quantization.at("bits", "4 or 8");
        const JsonCursor& sized = changed.find("group_size") ? changed : quantization;
        const Stored stored = bits.count() >= kWhole ? Stored{recipe.base} : grouped(bits, sized, 128, true);
        const bool pattern = key.find_first_of("*[(\\+") != std::string::npos;
        recipe.rules.push_back(
            rule_of(changed, key, pattern ? Syntax::regular : Syntax::name, stored, pattern ? 2 : 1));
        recipe.rules.back().head = true;
    }
}

/// Reads the format of the modules that no rule concerns, and the rules that depend on the method.
void read_method(Recipe& recipe, const JsonCursor& quantization) {
    const auto found = quantization.find("quant_method");
    const std::string method = found ? found->string() : std::string();
    const auto bits = [&] { return quantization.at("bits", "4 or 8"); };
    const auto add = [&](const char* key, const Stored& stored, int rank) {
        if (const auto list = quantization.find(key)) add_rules(recipe, *list, stored, rank);
    };
    for (const char* alone :
         {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers", "llm_int8_skip_modules"})
        add(alone, {recipe.base}, 0);
    if (method == "fp8" || method == "fbgemm_fp8") {
        recipe.otherwise = {"fp8", 0, block_of(quantization, "weight_block_size")};
    } else if (method == "mxfp4") {  // checkpoints in this format quantise experts only
        recipe.otherwise = {"mxfp4"};
        recipe.experts_only = true;
    } else if (method == "awq") {
        recipe.otherwise = grouped(bits(), quantization, 128, flag(quantization, "zero_point", true));
    } else if (method == "gptq" || method == "auto-round" || method == "hqq") {
        recipe.otherwise = grouped(bits(), quantization, 128, true);
        if (method != "gptq") recipe.otherwise.block = 0;  // whose kernels are not known
        read_dynamic(recipe, quantization);
        read_extra(recipe, quantization);
        recipe.head = flag(quantization, "lm_head", false);
        if (const auto listed =
                find_any(quantization, {"modules_in_block_to_quantize", "inside_layer_modules"})) {
            add_rules(recipe, *listed, recipe.otherwise, 3);
            recipe.otherwise = {recipe.base};
        }
    } else if (method == "bitsandbytes") {
        constexpr double kBlock =
            64;  // values with one scale of 32 bits, or of 8 bits in blocks of 256 scales
        const double scale = flag(quantization, "bnb_4bit_use_double_quant", false) ? 1 + 4. / 256 : 4;
        const bool four = flag(quantization, "load_in_4bit", false);
        recipe.otherwise = four ? Stored{"int4", scale / kBlock} : Stored{"int8"};
    } else if (method == "compressed-tensors" || (method == "modelopt" && !quantization.find("quant_algo") &&
                                                  quantization.find("config_groups"))) {
        recipe.otherwise = {recipe.base};
        read_groups(recipe, quantization);
    } else if (method == "modelopt") {
        recipe.otherwise = {modelopt_dtype(quantization, recipe.base)};
        if (recipe.otherwise.dtype == "int4")
            recipe.otherwise.scale_bytes =
                2 / static_cast<double>(extent_or(quantization, {"group_size"}, 128));
    } else {
        quantization.complain(fmt::format("a known quantisation (\"{}\" is not) {}", method, kRemedy));
    }
}

/// Throws for a list or object in a quantisation that is not read, because it may name modules.
void refuse_unread_lists(const JsonCursor& quantization) {
    constexpr std::string_view kKnown =
        " config_groups ignore kv_cache_scheme sparsity_config modules_to_not_convert exclude_modules "
        "ignored_layers llm_int8_skip_modules dynamic extra_config modules_in_block_to_quantize "
        "inside_layer_modules weight_block_size meta quantizer dataset tokenizer producer version "
        "transform_config block_name_to_quantize to_quant_block_names quant_block_list backend_config "
        "exllama_config activation_block_size pack_dtype damp_percent ";
    for (const auto& [key, value] : quantization.members())
        if ((value.is_array() || value.is_object()) && !is_off(value) && !lists(kKnown, key))
            value.complain(fmt::format("no list or object that is not understood {}", kRemedy));
}

/// The words of a text, between which spaces stand.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto end = text.find(' ');
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return words;
}

/// Whether a rule may mean a name: it must write the name of a fused matrix out, because "up_proj" alone does
/// not mean "gate_up_proj".
bool may_mean(const NameRule& rule, const std::string& name) {
    constexpr std::array<std::string_view, 2> kFused{"gate_up", "qkv"};
    return std::ranges::none_of(kFused, [&](std::string_view fused) {
        return name.find(fused) != std::string::npos && !rule.text.empty() &&
               rule.text.find(fused) == std::string::npos;
    });
}

bool concerns(const NameRule& rule, const Recipe& recipe, const ModuleNames& module,
              const std::vector<std::string>& names) {
    if (module.part == Part::head) {
        if (!rule.pattern) return rule.text == "lm_head";
        return rule.head && rule.pattern->matches("lm_head");
    }
    if (rule.layer && (*rule.layer != module.layer || !is_of_language(rule.text))) return false;
    const std::string layer = fmt::format("layers.{}.", module.layer);
    const auto is_inside = [&](const std::string& name) {
        return fmt::format(".{}{}.", rule.layer ? "" : layer, name).find("." + rule.text + ".") !=
               std::string::npos;
    };
    if (!rule.pattern) return rule.text.empty() || std::ranges::any_of(names, is_inside);
    const bool any_prefix =
        rule.text.starts_with("re:.*") || rule.text.starts_with('*') || rule.text.starts_with(".*");
    for (const std::string& prefix : recipe.prefixes) {
        for (const std::string& name : names)
            if (may_mean(rule, name) && rule.pattern->matches(fmt::format("{}{}{}", prefix, layer, name)))
                return true;
        if (any_prefix) break;
    }
    return false;
}

}  // namespace

Recipe recipe_of(const JsonCursor& config, const JsonCursor& whole, const std::optional<std::string>& wanted,
                 std::uint64_t layers, std::vector<std::string> prefixes) {
    Recipe recipe{.otherwise = {}, .layers = layers, .prefixes = std::move(prefixes), .rules = {}};
    for (const JsonCursor& stating : {whole, config})  // the latter counts if both state it
        if (const auto found = find_any(stating, {"torch_dtype", "dtype"}))
            if (const NumberFormat* dtype = find_format(found->string())) recipe.base = dtype->name;
    recipe.was_32_bits = recipe.base == "f32";
    if (recipe.was_32_bits) recipe.base = "bf16";
    if (wanted) {
        const NumberFormat& dtype = number_format(*wanted);
        const bool whole_model = dtype.values_per_block == 1 && dtype.bytes_per_block >= 2;
        if (whole_model) recipe.base = dtype.name;
        if (whole_model) recipe.was_32_bits = false;
        constexpr double kScales = 2.5 / 128;  // 16 bits of scale and 4 of a zero point for 128 values
        constexpr std::uint64_t kBlock = 128;
        recipe.otherwise = {std::string(dtype.name), dtype.name == "int4" ? kScales : 0,
                            dtype.name == "fp8_blocks" ? kBlock : 0};
        const bool is_of_llamacpp =
            dtype.values_per_block > 1 && dtype.arithmetic == Arithmetic::int8 && dtype.name != "int4";
        if (is_of_llamacpp) {  // as llama-quantize chooses: the output projection has at least 6 bits
            recipe.table = recipe.otherwise;
            recipe.output = bytes_per_value(dtype) > bytes_per_value(number_format("q6_k")) ? recipe.otherwise
                                                                                            : Stored{"q6_k"};
        }
        return recipe;
    }
    recipe.otherwise = {recipe.base};
    const auto own = config.find("quantization_config");
    if (const auto quantization = own ? own : whole.find("quantization_config")) {
        refuse_unread_lists(*quantization);
        read_method(recipe, *quantization);
    }
    return recipe;
}

Stored format_of(Recipe& recipe, const ModuleNames& module) {
    std::vector<std::string> names;
    if (!recipe.rules.empty())
        for (const std::string& folder : words_of(module.folders))
            for (const std::string& matrix : words_of(module.matrices))
                names.push_back(fmt::format("{}.{}", folder, matrix));
    const NameRule* first = nullptr;
    for (NameRule& rule : recipe.rules) {
        try {
            if (!concerns(rule, recipe, module, names)) continue;
        } catch (const std::length_error&) {
            rule.where.complain(
                fmt::format("a simpler pattern of module names than \"{}\" {}", rule.text, kRemedy));
        }
        rule.used = true;
        if (module.part == Part::head && !rule.head && rule.rank != 0) continue;
        if (first != nullptr && first->rank == rule.rank && first->stored != rule.stored)
            rule.where.complain(
                fmt::format("only one format for {} {}", names.empty() ? "lm_head" : names.front(), kRemedy));
        if (first == nullptr || rule.rank < first->rank) first = &rule;
    }
    if (module.part == Part::embedding && recipe.table) return *recipe.table;
    if (module.part == Part::head && recipe.output) return *recipe.output;
    if (module.part == Part::router || module.part == Part::embedding || module.part == Part::tower)
        return {recipe.base};
    if (first != nullptr) return first->stored;
    if (module.part == Part::head && !recipe.head) return {recipe.base};
    if (recipe.experts_only && module.part != Part::experts) return {recipe.base};
    return recipe.otherwise;
}

namespace {

/// A rule's text without what a pattern puts behind a name: "mlp\\.gate\\..*" → "mlp\\.gate".
std::string_view without_end(std::string_view text) {
    for (bool cut = true; std::exchange(cut, false);)
        for (const std::string_view end : {"$", ".*", "\\.", "."})
            if (text.ends_with(end)) {
                text.remove_suffix(end.size());
                cut = true;
            }
    return text;
}

}  // namespace

void refuse_unused_rules(const Recipe& recipe) {
    constexpr std::array<std::string_view, 13> kOfLayers{
        "attn",  "attention", "mlp", "ffn",    "feed_forward", "moe",          "expert",
        "_proj", "dense",     "fc",  "layers", "blocks",       "transformer.h"};
    constexpr std::array<std::string_view, 34> kOthers{
        "lm_head",     "embed",  "norm",      "router",   "vision",    "visual",    "audio",
        "image",       "mtp",    "nextn",     "eh_proj",  "shared",    "indexer",   "rotary",
        "bias",        "patch",  "merger",    "speech",   "projector", "connector", "aligner",
        "adapter",     "pooler", "talker",    "q_a_proj", "q_b_proj",  "kv_a_proj", "kv_b_proj",
        "linear_attn", "mlp1",   "resampler", "vpm",      "apm",       "tts"};
    const auto has = [](const std::string& text) {
        return [&text](std::string_view part) { return text.find(part) != std::string::npos; };
    };
    for (const NameRule& rule : recipe.rules) {
        const auto layer = rule.layer ? rule.layer : layer_in(rule.text, false);
        const bool beyond = layer && *layer >= recipe.layers;  // layers of a draft
        const std::string_view stem = without_end(rule.text);
        const bool gate = stem.ends_with("gate");
        const bool of_layers = rule.layer || std::ranges::any_of(kOfLayers, has(rule.text));
        if (rule.used || beyond || gate || !of_layers || std::ranges::any_of(kOthers, has(rule.text)))
            continue;
        rule.where.complain(
            fmt::format("the name of a module of this model, unlike \"{}\", so that the size of the weights "
                        "would be a guess {}",
                        rule.text, kRemedy));
    }
}

// A checkpoint states the type by the scheme of bits and kind of compressed-tensors and ModelOpt, by
// ModelOpt's name of an algorithm, or beside these under the name of vLLM's option.
std::optional<std::string> kv_dtype_of(const JsonCursor& config) {
    const auto quantization = config.find("quantization_config");
    if (!quantization) return kv_dtype_option_of(config);
    if (const auto scheme = quantization->find("kv_cache_scheme"); scheme && scheme->is_object()) {
        const JsonCursor bits = scheme->at("num_bits", "4 or 8");
        const auto type = scheme->find("type");
        if (!type || type->string() != "float") return int_dtype(bits);
        return bits.count() == 4 ? "nvfp4" : "fp8";
    }
    const auto algorithm = find_any(*quantization, {"kv_cache_quant_algo", "kv_cache_scheme"});
    if (!algorithm) {
        const auto option = kv_dtype_option_of(*quantization);
        return option ? option : kv_dtype_option_of(config);
    }
    if (const NumberFormat* dtype = find_format(algorithm->string())) return std::string(dtype->name);
    algorithm->complain("a known type of KV cache, FP8, INT8 or NVFP4 (or give the type with CARD:kv=TYPE)");
}

}  // namespace paretoken::cards
