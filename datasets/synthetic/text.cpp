#include "datasets/synthetic/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "core/random_below.h"

namespace paretoken::datasets {
namespace {

// Common words that are, with their leading blank, one token in tokenizers of about 32k entries and more.
constexpr std::string_view kWords[] = {
    // clang-format off
    "the", "of", "and", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are", "as",
    "with", "his", "they", "be", "at", "one", "have", "this", "from", "or", "had", "by", "hot", "word",
    "but", "what", "some", "we", "can", "out", "other", "were", "all", "there", "when", "up", "use", "your",
    "how", "said", "an", "each", "she", "which", "do", "their", "time", "if", "will", "way", "about",
    "many", "then", "them", "write", "would", "like", "so", "these", "her", "long", "make", "thing", "see",
    "him", "two", "has", "look", "more", "day", "could", "go", "come", "did", "number", "sound", "no",
    "most", "people", "my", "over", "know", "water", "than", "call", "first", "who", "may", "down", "side",
    "been", "now", "find", "any", "new", "work", "part", "take", "get", "place", "made", "live", "where",
    "after", "back", "little", "only", "round", "man", "year", "came", "show", "every", "good", "me",
    "give", "our", "under", "name", "very", "through", "just", "form", "much", "great", "think", "say",
    "help", "low", "line", "before", "turn", "cause", "same", "mean", "move", "right", "boy", "old", "too",
    "does", "tell", "set", "three", "want", "air", "well", "also", "play", "small", "end", "put", "home",
    "read", "hand", "port", "large", "add", "even", "land", "here", "must", "big", "high", "such", "follow",
    "act", "why", "ask", "men", "change", "went", "light", "kind", "off", "need", "house", "try", "us",
    "again", "animal", "point", "mother", "world", "near", "build", "self", "earth", "father", "head",
    "stand", "own", "page", "should", "country", "found", "answer", "school", "grow", "study", "still",
    "learn", "plant", "cover", "food", "sun", "four", "thought", "let", "keep", "eye", "never", "last",
    "door", "between", "city", "tree", "cross", "since", "hard", "start", "might", "story", "far", "sea",
    "draw", "left", "late", "run", "while", "press", "close", "night", "real", "life", "few", "stop",
    "open", "next", "white", "got", "walk", "example", "paper", "often", "always", "music", "those", "both",
    "mark", "book", "letter", "until", "mile", "river", "car", "feet", "care", "second", "group", "rain",
    "eat", "room", "friend", "idea", "fish", "north", "base", "horse", "watch", "color", "face", "wood",
    "main", "enough", "plain", "girl", "usual", "young", "ready", "above", "ever", "red", "list", "though",
    "feel", "talk", "bird", "soon", "body", "dog", "family", "direct", "pose", "leave", "song", "measure",
    "state", "product", "black", "short", "class", "wind", "ship", "area", "half", "rock", "order", "fire",
    "south", "problem", "piece", "pass", "farm", "top", "whole", "king", "size", "best", "hour", "better",
    "true", "during", "hundred", "am", "step", "early", "hold", "west", "ground", "reach", "fast", "five",
    "sing", "listen", "six", "table", "travel", "less", "ten", "simple", "several", "lay", "against",
    "pattern", "slow", "center", "love", "person", "money", "road", "map", "science", "rule", "govern",
    "pull", "cold", "voice", "fall", "power", "town", "fine", "certain", "fly", "unit", "lead", "dark",
    "machine", "note", "wait", "plan", "figure", "star", "box", "noun", "field", "rest", "correct", "able",
    "pound", "done", "drive", "stood", "front", "week", "final", "green", "oh", "quick", "develop", "sleep",
    "warm", "free", "minute", "strong", "special", "mind", "clear", "tail", "fact", "street", "inch", "lot",
    "nothing", "course", "stay", "wheel", "full", "force", "blue", "object", "surface", "deep", "moon",
    "foot", "yet", "test", "record", "boat", "common", "gold", "plane", "age", "dry", "ago", "ran", "check",
    "game", "shape", "yes", "miss", "heat", "snow", "bed", "sit", "perhaps", "fill", "east", "weight",
    "among", "grand", "ball", "wave", "drop", "heart", "present", "heavy", "engine", "arm", "wide",
    "forest", "race", "window", "store", "summer", "train", "leg", "wall", "catch", "mount", "sky", "board",
    "joy", "winter", "sat", "written", "wild", "glass", "grass", "job", "edge", "sign", "visit", "past",
    "soft", "fun", "bright", "gas", "weather", "month", "million", "bear", "finish", "happy", "flower",
    "gone", "trade", "trip", "office", "receive", "row", "mouth", "exact", "symbol", "least", "except",
    "seed", "tone", "join", "suggest", "clean", "break", "yard", "rise", "bad", "blow", "oil", "touch",
    "cent", "mix", "team", "wire", "cost", "lost", "brown", "wear", "equal", "sent", "choose", "fit",
    "flow", "fair", "bank", "collect", "save", "control", "woman", "doctor", "please", "whose", "ring",
    "period", "radio", "atom", "human", "history", "effect", "expect", "crop", "modern", "element", "hit",
    "student", "party", "supply", "bone", "rail", "agree", "thus", "capital", "chair", "fruit", "rich",
    "thick", "process", "guess", "sharp", "wing", "create", "wash", "bat", "rather", "corn", "compare",
    "string", "bell", "depend", "meat", "rub", "tube", "famous", "dollar", "stream", "sight", "thin",
    "planet", "chief", "clock", "mine", "tie", "enter", "major", "fresh", "search", "send", "yellow",
    "allow", "print", "spot", "current", "lift", "rose", "block", "chart", "hat", "sell", "success",
    "company", "event", "deal", "term", "wife", "spread", "camp", "invent", "born", "quart", "nine",
    "noise", "level", "gather", "shop", "shine", "column", "select", "wrong", "gray", "repeat", "require",
    "broad", "prepare", "salt", "nose", "plural", "anger", "claim", "oxygen", "sugar", "pretty", "skill",
    "women", "season", "thank", "branch", "match",
    // clang-format on
};

constexpr std::size_t kOpeningWords = 256;
static_assert(kOpeningWords <= std::size(kWords));

/// The least number of words of one token. With fewer, texts would repeat themselves too much.
constexpr std::size_t kEnoughSingles = 64;

const std::unordered_map<std::string_view, std::uint32_t>& position_of_word() {
    static const auto positions = [] {
        std::unordered_map<std::string_view, std::uint32_t> map;
        for (std::uint32_t i = 0; i < std::size(kWords); ++i) map.emplace(kWords[i], i);
        return map;
    }();
    return positions;
}

std::vector<std::uint32_t> positions_with(const std::vector<double>& costs, auto&& accept) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t i = 0; i < costs.size(); ++i) {
        if (accept(costs[i])) positions.push_back(i);
    }
    return positions;
}

std::vector<std::uint32_t> cheapest_first(const std::vector<double>& costs) {
    auto positions = positions_with(costs, [](double cost) { return cost > 0; });
    std::ranges::stable_sort(positions,
                             [&](std::uint32_t a, std::uint32_t b) { return costs[a] < costs[b]; });
    return positions;
}

/// A word with its leading blank, in bytes that are copied as a whole.
struct Cell {
    std::array<char, 16> text{};
    std::size_t size = 0;
};

constexpr auto kCells = [] {
    std::array<Cell, std::size(kWords)> cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i].text[0] = ' ';
        std::ranges::copy(kWords[i], cells[i].text.begin() + 1);
        cells[i].size = kWords[i].size() + 1;
    }
    return cells;
}();

/// Appends words drawn from `positions`, as any_of() draws them, each after a blank.
void append_any_of(std::span<const std::uint32_t> positions, std::size_t words, std::string& text,
                   Random& random) {
    constexpr std::size_t kBatch = 256;
    std::array<std::int32_t, kBatch> drawn;
    std::array<char, kBatch * sizeof(Cell::text)> bytes;
    while (words > 0) {
        const auto batch = std::span(drawn).first(std::min(words, kBatch));
        fill_below(random, positions.size(), 0, batch);
        char* end = bytes.data();
        for (const std::int32_t place : batch) {
            const Cell& cell = kCells[positions[static_cast<std::size_t>(place)]];
            std::memcpy(end, cell.text.data(), sizeof cell.text);
            end += cell.size;
        }
        text.append(bytes.data(), end);
        words -= batch.size();
    }
}

std::uint32_t any_of(std::span<const std::uint32_t> positions, Random& random) {
    return positions[random.below(positions.size())];
}

}  // namespace

std::span<const std::string_view> vocabulary() {
    return kWords;
}
std::size_t opening_words() {
    return kOpeningWords;
}

TextWriter::TextWriter(Calibration calibration) : calibration_(std::move(calibration)) {
    // A calibration made for another vocabulary would be a bug; one without words means one token each.
    if (calibration_.word_tokens.size() != std::size(kWords))
        calibration_.word_tokens.assign(std::size(kWords), 1);
    if (calibration_.opening_word_tokens.size() != kOpeningWords) {
        calibration_.opening_word_tokens.assign(calibration_.word_tokens.begin(),
                                                calibration_.word_tokens.begin() + kOpeningWords);
    }
    const auto is_single = [](double cost) { return cost == 1; };
    singles_ = positions_with(calibration_.word_tokens, is_single);
    if (singles_.size() < kEnoughSingles) singles_.clear();
    by_cost_ = cheapest_first(calibration_.word_tokens);
    openings_ = positions_with(calibration_.opening_word_tokens, is_single);
    if (openings_.size() < kEnoughSingles) {
        openings_ = positions_with(calibration_.opening_word_tokens, [](double) { return true; });
    }
}

std::string TextWriter::prompt(std::int64_t tokens, std::uint64_t opening, Random random) const {
    const std::uint32_t first = openings_[opening % openings_.size()];
    std::string text(kWords[first]);
    const double budget = static_cast<double>(tokens) - calibration_.overhead_tokens;
    const double left = budget - calibration_.opening_word_tokens[first];
    text.reserve(static_cast<std::size_t>(std::max(16.0, 6 * budget)));
    append_words(text, left, random);
    return text;
}

void TextWriter::append(std::string& text, std::int64_t tokens, Random random) const {
    append_words(text, static_cast<double>(tokens), random);
}

void TextWriter::append_words(std::string& text, double left, Random& random) const {
    if (!singles_.empty()) {
        const bool begins = text.empty();
        append_any_of(singles_, static_cast<std::size_t>(std::max(0.0, std::floor(left + 0.5))), text,
                      random);
        if (begins && !text.empty()) text.erase(0, 1);  // the first word has no blank
        return;
    }
    while (left > 0) {
        const auto word = next_word(left, random);
        if (!word) break;
        if (!text.empty()) text += ' ';
        text += kWords[*word];
        left -= calibration_.word_tokens[*word];
    }
}

std::optional<std::uint32_t> TextWriter::next_word(double left, Random& random) const {
    if (by_cost_.empty()) return std::nullopt;
    const auto& cost = calibration_.word_tokens;
    const std::uint32_t any = any_of(by_cost_, random);
    if (cost[any] <= left) return any;
    const auto too_dear =
        std::upper_bound(by_cost_.begin(), by_cost_.end(), left,
                         [&](double most, std::uint32_t word) { return most < cost[word]; });
    if (too_dear != by_cost_.begin()) return any_of({by_cost_.begin(), too_dear}, random);
    // No word fits any more. The cheapest word is taken if it comes nearer to `left` than no word.
    return left >= cost[by_cost_.front()] / 2 ? std::optional(by_cost_.front()) : std::nullopt;
}

std::string TextWriter::of_words(std::size_t words, std::uint64_t opening, Random random) const {
    std::string text(kWords[openings_[opening % openings_.size()]]);
    for (std::size_t i = 1; i < words; ++i) {
        text += ' ';
        text += kWords[random.below(std::size(kWords))];
    }
    return text;
}

double TextWriter::expected_tokens(std::string_view text) const {
    double tokens = 0;
    for (bool opening = true; !text.empty(); opening = false) {
        const std::size_t length = std::min(text.find(' '), text.size());
        const auto word = position_of_word().find(text.substr(0, length));
        if (word != position_of_word().end()) {
            const bool counted_as_opening = opening && word->second < kOpeningWords;
            tokens += (counted_as_opening ? calibration_.opening_word_tokens
                                          : calibration_.word_tokens)[word->second];
        }
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    return tokens;
}

}  // namespace paretoken::datasets
