#include "cli/help/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "cli/help/topics.h"
#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "core/stable_sort.h"
#include "core/text/letter_case.h"
#include "core/version.h"
#include "reports/document/table.h"

namespace paretoken::cli {
namespace {

constexpr std::string_view kWhole[] = {
    "How fast the server on this machine is, in a minute and in plain words",
    "paretoken try",
    "All loads from 1 to 64 users, and a page with the result",
    "paretoken sweep http://localhost:8000 --concurrency 1..64 --gpu h100 --out runs/mine",
    "What a million tokens costs, and how far that is from the hardware's limit",
    "paretoken report runs/mine --price 2026-11-cloud",
    "Is the server slower than a baseline kept by `paretoken baseline save`?",
    "paretoken gate --baseline main --candidate-url http://localhost:8000",
    "The same as a command line of another tool",
    "paretoken translate 'vllm bench serve --model M --dataset-name random'",
};
constexpr std::string_view kTry[] = {
    "The server that runs on this machine",
    "paretoken try",
    "A server at an address",
    "paretoken try http://localhost:8000",
    "A server that wants a key (a bearer token)",
    "OPENAI_API_KEY=KEY paretoken try https://llm.example",
    "Longer prompts, with more time",
    "paretoken try --depth 1024..65536 --time 5m",
    "A simulated server, without waiting",
    "paretoken try sim:llama3-8b-h100-fp8 --virtual",
};
constexpr std::string_view kRun[] = {
    "8 users with prompts of 1,000 tokens, each of whom waits for the answer",
    "paretoken run http://localhost:8000 --concurrency 8 --isl 1000 --osl 200",
    "4 requests per second (rps) for two minutes, whether or not the server keeps up",
    "paretoken run http://localhost:8000 --request-rate 4 --duration 2m",
    "Does the server meet a limit? (in ms; exit code 1 if not)",
    "paretoken run http://localhost:8000 --concurrency 16 --slo ttft_p95:800",
    "A trace, replayed at its own times",
    "paretoken run http://localhost:8000 --dataset mooncake --dataset-path trace.jsonl",
    "A trace at twice the speed; a smaller scale replays it faster",
    "paretoken run http://localhost:8000 --dataset-path trace.jsonl --arrivals trace:scale=.5",
    "A header on every request except GET /metrics, with the result saved as JSON",
    "paretoken run http://localhost:8000 -H 'X-Team: a' --json > result.json",
    "One percentile, in seconds (all names: paretoken help metrics)",
    "paretoken run http://localhost:8000 --json | jq .metrics.ttft_s.p99",
    "Multi-turn conversations of 6 turns, each with new prompt tokens",
    "paretoken run http://localhost:8000 --dataset multi_turn:turns=6,first=1000,next=200 --concurrency 8",
    "50 jobs of agents, whose turns call tools that take 2 s",
    "paretoken run http://localhost:8000 --dataset agents:jobs=50,turns=8,tool=2s --concurrency 4",
    "A distributed load from two machines; the other one has --shard 1/2",
    "paretoken run http://model:8000 --concurrency 64 --shard 0/2 --rendezvous HOST:9000 --out runs/big",
};
constexpr std::string_view kSweep[] = {
    "All loads from 1 to 64 users, doubling",
    "paretoken sweep http://localhost:8000 --concurrency 1..64",
    "Eight rates from one request at a time to saturation, the max throughput",
    "paretoken sweep http://localhost:8000 --request-rate auto:8",
    "The highest load within two limits, such as those of an SLA: the knee",
    "paretoken sweep http://localhost:8000 --search slo --slo ttft_p95:800 --slo tpot_p95:50",
    "Two quantizations, on servers that are started for it",
    "paretoken sweep --server-cmd 'vllm serve M --port {port} -q {q}' --grid q=fp8,awq",
    "Two servers that run already, point by point",
    "paretoken sweep http://a:8000 --against http://b:8000 --concurrency 1..64",
};
constexpr std::string_view kGate[] = {
    "Once: measure a server and store its runs as the baseline",
    "paretoken gate --create-baseline --baseline main --candidate-url http://localhost:8000",
    "A server against this baseline, or one that was stored with `paretoken baseline save`",
    "paretoken gate --baseline main --candidate-url http://localhost:8000",
    "The same with runs of the candidate that exist, three or more",
    "paretoken gate --baseline main --candidate runs/4 runs/5 runs/6",
    "Two servers that run: pairs of runs until there is a verdict",
    "paretoken gate --baseline-url http://a:8000 --candidate-url http://b:8000",
    "Two versions that are started for it",
    "paretoken gate --baseline-cmd './v1 --port {port}' --candidate-cmd './v2 --port {port}'",
    "A limit (threshold) that every run of the candidate must meet, too",
    "paretoken gate --baseline main --candidate-url http://localhost:8000 --limit ttft_p95:800",
    "A nightly regression test in CI: annotations on GitHub, and a JUnit file",
    "paretoken gate --baseline main --candidate-url http://localhost:8000 --github --export junit=gate.xml",
};
constexpr std::string_view kReport[] = {
    "Cost against speed; the bottleneck: slow server, low throughput, a queue",
    "paretoken report runs/mine --price 2026-11-cloud --gpu h100",
    "At a price of your own, in dollars per GPU-hour",
    "paretoken report runs/mine --gpu h100 --price 2.50",
    "Two configurations on one page, with a price list of your own",
    "paretoken report runs/fp8 runs/awq --price prices.json",
    "The cheapest that meets a limit",
    "paretoken report runs/fp8 runs/awq --slo ttft_p95:800",
    "With the limit of the model on this hardware",
    "paretoken report runs/mine --model-card llama-3.1-8b",
    "At a named place",
    "paretoken report runs/mine --out mine.html",
};

constexpr std::string_view kBaseline[] = {
    "Three or more runs of the main branch, under a name (`paretoken gate --create-baseline` measures them)",
    "paretoken baseline save main runs/1 runs/2 runs/3",
    "The runs and figures of a baseline",
    "paretoken baseline show main",
    "The candidate of a gate that passed becomes a part of the baseline",
    "paretoken baseline update main runs/gate",
    "All baselines in this directory",
    "paretoken baseline list",
    "At a named place, such as a cache of CI",
    "paretoken baseline save main runs/1 runs/2 runs/3 --store ci/baselines",
};
constexpr std::string_view kCompare[] = {
    "Two quantizations that were measured with the same options",
    "paretoken compare runs/fp8 runs/awq",
    "What a million tokens costs with each",
    "paretoken compare runs/fp8 runs/awq --gpu h100 --price 2026-11-cloud",
    "Three of them, each beside the first",
    "paretoken compare runs/bf16 runs/fp8 runs/awq",
    "A run, and a result file of another load generator",
    "paretoken compare runs/mine benchmarks.json",
    "Before and after a change (`paretoken gate` says whether it is chance)",
    "paretoken compare runs/before runs/after",
};
constexpr std::string_view kCost[] = {
    "What a million tokens costs on hardware at a price per hour",
    "paretoken cost per-million --usd-per-h 3.50 --tokens-per-s 1000",
    "Memory that the cache of a sequence needs",
    "paretoken cost kv --model-card llama-3.1-8b --context 32768",
    "The number of tokens per month from which own hardware is cheaper than an API",
    "paretoken cost self-host --usd-per-month 2520 --api-usd-per-m .90 --tokens-per-s 1200",
    "Whether caching a common prompt pays",
    "paretoken cost prompt-cache --write 3.75 --read .30 --base 3.00",
    "How many GPUs a rate of requests needs",
    ("paretoken cost capacity --requests-per-s 10 --input 2000 --output 300 --prefill-ms-per-1k 50 "
     "--ms-per-token 15"),
};

constexpr std::string_view kPlan[] = {
    "What fits on which GPUs, and how fast it would be",
    "paretoken plan --model-card llama-3.1-70b --gpu all --isl 2000 --osl 300",
    "How many GPUs carry 50 requests per second (50 rps) within two limits, and what they cost",
    ("paretoken plan --model-card llama-3.1-8b --gpu l40s,h100 --isl 1000 --osl 200 --demand 50rps "
     "--slo ttft_p95:800 --slo tpot_p95:50"),
    "A server that was measured, at other loads: a simulated one is fitted to its runs",
    "paretoken plan --from runs/mine --at 1,16,128 --model-card llama-3.1-8b --gpu h100",
};
constexpr std::string_view kServe[] = {
    "A simulator of a server: Llama 3.1 8B on an H100, on port 8000",
    "paretoken serve --profile llama3-8b-h100-bf16",
    "A model on GPUs, computed from their cards",
    "paretoken serve --profile llama3-70b/h200x2/fp8 --port 8001",
    "One request in ten is refused with 503",
    "paretoken serve --fault http-503:p=.1",
};
constexpr std::string_view kCache[] = {
    "Does the prefix cache work, and what does it save?",
    "paretoken cache http://localhost:8000 --out runs/cache",
    "How many prefixes it holds, and for how long",
    "paretoken cache http://localhost:8000 --working-set 1..64 --ttl 10m",
};
constexpr std::string_view kWatch[] = {
    "Monitor a server in production: a few requests each minute, with alerts",
    "paretoken watch http://localhost:8000 --every 1m --duration 336h",
};
constexpr std::string_view kMerge[] = {
    "The shards that two machines measured without a rendezvous",
    "paretoken merge runs/part0 runs/part1 --out runs/both",
};
constexpr std::string_view kShow[] = {
    "Every figure of a run",
    "paretoken show runs/mine",
    "One percentile, in seconds",
    "paretoken show runs/mine --json | jq .metrics.ttft_s.p99",
    "A run by the definitions of another load generator",
    "paretoken show runs/mine --definitions vllm",
};
constexpr std::string_view kExport[] = {
    "A run for a spreadsheet",
    "paretoken export runs/mine --format csv --out mine.csv",
    "A result for the test report of CI",
    "paretoken export runs/mine --format junit --out mine.xml",
    "A dashboard of the server's own metrics",
    "paretoken export --format grafana --engine vllm --out dashboard.json",
};

constexpr std::string_view kRunOptions[] = {"--url",     "--model",        "--concurrency", "--request-rate",
                                            "--isl",     "--osl",          "--num-prompts", "--duration",
                                            "--dataset", "--dataset-path", "--slo",         "--api-key-env",
                                            "--gpu",     "--out",          "--virtual"};
constexpr std::string_view kSweepOptions[] = {"--url",        "--model",  "--concurrency", "--request-rate",
                                              "--isl",        "--osl",    "--num-prompts", "--duration",
                                              "--slo",        "--search", "--grid",        "--max-time",
                                              "--server-cmd", "--gpu",    "--out"};
constexpr std::string_view kGateOptions[] = {"--baseline",
                                             "--candidate",
                                             "--baseline-url",
                                             "--candidate-url",
                                             "--baseline-cmd",
                                             "--candidate-cmd",
                                             "--create-baseline",
                                             "--limit",
                                             "--policy",
                                             "--max-pairs",
                                             "--max-time",
                                             "--concurrency",
                                             "--num-prompts",
                                             "--isl",
                                             "--osl",
                                             "--out"};

constexpr HelpPage kPages[] = {{"", kWhole, {}},
                               {"try", kTry, {}},
                               {"run", kRun, kRunOptions},
                               {"sweep", kSweep, kSweepOptions},
                               {"gate", kGate, kGateOptions},
                               {"report", kReport, {}},
                               {"baseline", kBaseline, {}},
                               {"compare", kCompare, {}},
                               {"cost", kCost, {}},
                               {"plan", kPlan, {}},
                               {"serve", kServe, {}},
                               {"cache", kCache, {}},
                               {"watch", kWatch, {}},
                               {"merge", kMerge, {}},
                               {"show", kShow, {}},
                               {"export", kExport, {}}};

const HelpPage* page_of(std::string_view command) {
    const auto* const found = std::ranges::find(kPages, command, &HelpPage::command);
    return found == std::end(kPages) ? nullptr : found;
}

/// Returns a text broken at its line ends and to a width, with each line indented.
std::string broken(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        for (const std::string& line : reports::wrapped(text.substr(0, end), width - indent))
            out += fmt::format("{:{}}{}\n", "", indent, line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// Returns the field of the plan that an option sets; null if it is another option.
const PlanField* field_of(const CLI::Option& option) {
    for (const PlanField& field : plan_fields())
        if (!field.flags.empty() && !option.get_lnames().empty() &&
            option_of(field) == "--" + option.get_lnames().front())
            return &field;
    return nullptr;
}

/// Returns "-H, --header TEXT" with our names only.
std::string title_of(const CLI::Option& option) {
    std::vector<std::string> names;
    if (const PlanField* const field = field_of(option)) {
        for (std::string_view rest = field->flags; !rest.empty();) {
            const std::string_view name = rest.substr(0, rest.find(','));
            if (name.starts_with('-')) names.emplace_back(name);
            if (name.starts_with('!')) names.emplace_back(name.substr(1));
            rest.remove_prefix(std::min(name.size() + 1, rest.size()));
        }
    } else {
        for (const std::string& name : option.get_snames()) names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
        if (names.empty()) names.push_back(option.get_name(true));
    }
    std::string title = fmt::format("{}", fmt::join(names, ", "));
    if (option.get_items_expected_max() > 0 && !option.get_type_name().empty())
        title += " " + option.get_type_name();
    return title;
}

std::string description_of(const CLI::Option& option) {
    std::string text = option.get_description();
    if (!option.get_default_str().empty()) text += fmt::format(" [{}]", option.get_default_str());
    const PlanField* const field = field_of(option);
    if (field == nullptr || field->synonyms.empty()) return text;
    std::string others;
    for (const Synonym& synonym : synonyms_of(*field)) {
        const std::string_view name = synonym.name.substr(synonym.name.starts_with('!') ? 1 : 0);
        // An option of a command itself can have the name of a field, and takes no synonyms.
        if (option.check_name(std::string(name)))
            others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", name, synonym.tools);
    }
    return others.empty() ? text : fmt::format("{}. Also {}", text, others);
}

std::string option_text(const CLI::Option& option, std::size_t width) {
    return fmt::format("  {}\n{}", title_of(option), broken(description_of(option), 6, width));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string usage_of(const CLI::App& command, const std::string& path) {
    std::string text = path;
    if (!commands_of(command).empty())
        text += command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
    for (const CLI::Option* const option : command.get_options())
        if (option->get_positional()) {
            std::string name = option->get_single_name();
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return std::toupper(c); });
            text += option->get_required() ? " " + name : fmt::format(" [{}]", name);
        }
    return text + " [OPTIONS]";
}

std::string example_of(const HelpPage& page, std::size_t i, std::size_t width) {
    return broken(fmt::format("# {}", page.examples[i]), 2, width) +
           fmt::format("  {}\n", page.examples[i + 1]);  // in one line, which can be copied
}

std::string examples_of(const HelpPage& page, std::size_t width) {
    std::string text = "\nExamples:\n";
    for (std::size_t i = 0; i + 1 < page.examples.size(); i += 2) text += example_of(page, i, width);
    return text;
}

/// The words that someone looks for, in lower case.
struct Wanted {
    /// A text in lower case, in which multi_turn and multi-turn are equal.
    static std::string plain(std::string_view text) {
        std::string lower = lower_case(text);
        std::ranges::replace(lower, '_', '-');
        return lower;
    }

    std::vector<std::string> words;
    bool may_go_on = false;  ///< whether the words may be any beginnings: "quant" of "quantization"

    /// Whether a text has each of the words, with at most an ending.
    bool are_in(std::string_view text) const {
        static constexpr std::array<std::string_view, 6> kEndings = {"", "s", "es", "d", "ed", "ing"};
        const std::string lower = plain(text);
        const auto is_letter = [&](std::size_t at) {
            return at < lower.size() && std::isalnum(static_cast<unsigned char>(lower[at])) != 0;
        };
        return std::ranges::all_of(words, [&](const std::string& word) {
            for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
                std::size_t end = at + word.size();
                while (is_letter(end)) ++end;
                const std::string_view ending =
                    std::string_view(lower).substr(at + word.size(), end - at - word.size());
                if ((at == 0 || !is_letter(at - 1)) &&
                    (may_go_on || std::ranges::find(kEndings, ending) != kEndings.end()))
                    return true;
            }
            return false;
        });
    }
};

/// An option or a command that has the words.
struct Mention {
    int rank;  ///< the lower, the more probably it is what is looked for
    std::string name;
    std::string text;
    std::vector<std::string> commands;  ///< the commands that have the option
};

/// Adds the options of the commands below `app` and these commands themselves. `path` is "paretoken
/// baseline".
void add_mentions(const CLI::App& app, const std::string& path, const Wanted& wanted,
                  std::vector<Mention>& mentions) {
    const auto add = [&](int rank, std::string name, std::string text, const std::string& command) {
        for (const char* const end : {". ", "; ", " ["}) {
            std::size_t at = text.find(end);
            while (at != std::string::npos && text.substr(0, at).ends_with("e.g"))
                at = text.find(end, at + 1);
            text.resize(std::min(at, text.size()));
        }
        auto found = std::ranges::find(mentions, name, &Mention::name);
        if (found == mentions.end())
            found = mentions.insert(found, {rank, std::move(name), std::move(text), {}});
        if (!command.empty()) found->commands.push_back(command);
    };
    for (const CLI::App* const command : commands_of(app)) {
        const std::string& name = command->get_name();
        const std::string here = fmt::format("{} {}", path, name);
        if (wanted.are_in(fmt::format("{} {}", here, command->get_description())))
            add(1, here, command->get_description(), "");
        const HelpPage* const page = app.get_parent() == nullptr ? page_of(name) : nullptr;
        const std::string before = wanted.words.size() > 1 ? here + " " : "";  // "run header"
        for (const CLI::Option* const option : command->get_options()) {
            if (option->get_lnames().empty()) continue;
            const std::string long_name = "--" + option->get_lnames().front();
            const int is_rare =
                page != nullptr && std::ranges::find(page->most_used, long_name) != page->most_used.end() ? 0
                                                                                                          : 1;
            if (wanted.are_in(before + long_name))
                add(2 * is_rare, title_of(*option), description_of(*option), name);
            else if (wanted.are_in(fmt::format("{}{} {}", before, long_name, description_of(*option))))
                add(3 + is_rare, title_of(*option), description_of(*option), name);
        }
        add_mentions(*command, here, wanted, mentions);
    }
}

/// Returns the examples, options, commands and topics that have all of the words.
std::string mentions(const CLI::App& app, const Wanted& wanted, std::size_t width) {
    constexpr std::size_t kMost = 6;
    constexpr std::size_t kMostRare = 3;  // options of which only the explanation has the words
    std::string text;
    for (const HelpPage& page : kPages)
        for (std::size_t i = 0; i + 1 < page.examples.size(); i += 2)
            if (wanted.are_in(fmt::format("{} {}", page.examples[i], page.examples[i + 1])) &&
                text.find(page.examples[i + 1]) == std::string::npos)
                text += example_of(page, i, width);
    if (!text.empty()) text.insert(0, "Examples:\n");
    std::vector<Mention> found;
    add_mentions(app, "paretoken", wanted, found);
    sort_stably(found, {}, &Mention::rank);
    found.resize(std::min(found.size(), kMost));
    while (found.size() > kMostRare && found.back().rank > 3) found.pop_back();
    if (!found.empty()) text += "Options and commands:\n";
    for (const auto& [rank, name, explained, commands] : found) {
        const std::string of = commands.empty() ? "" : fmt::format(" ({})", fmt::join(commands, ", "));
        text += broken(name + of, 2, width) + broken(explained, 6, width);
    }
    std::vector<std::string> about;
    for (const Topic& topic : topics())
        if (wanted.are_in(topic.text(width))) about.push_back(fmt::format("paretoken help {}", topic.name));
    if (!about.empty()) text += broken(fmt::format("See also: {}", fmt::join(about, ", ")), 0, width);
    return text;
}

/// Words that people look for, with the word that help has for the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSameThings = {{
    {"abort", "cancel"},
    {"fast", "faster"},
    {"markdown", "md"},
    {"min-p", "extra-body"},
    {"top-k", "extra-body"},
    {"top-p", "extra-body"},
    {"p99.9", "percentile"},
    {"p999", "percentile"},
    {"quantile", "percentile"},
    {"response", "answer"},
    {"save", "keep"},
    {"user-defined", "custom"},
}};

/// Returns what has all of the words, or else words that mean the same, or else the last word that is found.
std::string best_mentions(const CLI::App& app, std::vector<std::string> wanted, std::size_t width) {
    const auto search = [&](const std::vector<std::string>& words) {
        std::string text = mentions(app, {.words = words}, width);
        return text.empty() ? mentions(app, {.words = words, .may_go_on = true}, width) : text;
    };
    if (std::string text = search(wanted); !text.empty()) return text;
    for (std::string& word : wanted)
        for (const auto& [asked, known] : kSameThings)
            if (word == asked) word = known;
    if (std::string text = search(wanted); !text.empty()) return text;
    if (wanted.size() == 1) return {};
    for (auto word = wanted.rbegin(); word != wanted.rend(); ++word)
        if (const std::string text = search({*word}); !text.empty())
            return fmt::format("Nothing has all of the words. About '{}':\n{}", *word, text);
    return {};
}

}  // namespace

std::span<const HelpPage> help_pages() {
    return kPages;
}

std::string mentions_of(const CLI::App& app, const std::vector<std::string>& words, std::size_t width) {
    std::vector<std::string> wanted;
    for (const std::string& word : words) {
        wanted.push_back(Wanted::plain(word));
        std::string& last = wanted.back();
        if (last.size() > 3 && last.ends_with('s')) last.pop_back();
    }
    return best_mentions(app, std::move(wanted), width);
}

std::string help_text(const CLI::App& command, const std::string& path, bool all, std::size_t width) {
    const HelpPage* const page = page_of(command.get_parent() == nullptr ? "" : command.get_name());
    std::string text = broken(command.get_description(), 0, width);
    text += fmt::format("\nUsage: {}\n", usage_of(command, path));
    if (page != nullptr) text += examples_of(*page, width);
    const bool is_short = page != nullptr && !page->most_used.empty() && !all;
    if (is_short) {
        text += "\nMost used options:\n";
        for (const std::string_view name : page->most_used)
            if (const CLI::Option* const option = command.get_option_no_throw(std::string(name)))
                text += option_text(*option, width);
        text += fmt::format("\n{} --help-all shows all options.\n", path);
    } else {
        std::vector<std::string> groups;
        for (const CLI::Option* const option : command.get_options())
            if (std::ranges::find(groups, option->get_group()) == groups.end() &&
                !option->get_group().empty())
                groups.push_back(option->get_group());
        for (const std::string& group : groups) {
            text += fmt::format("\n{}:\n", group);
            for (const CLI::Option* const option : command.get_options())
                if (option->get_group() == group) text += option_text(*option, width);
        }
    }
    if (!commands_of(command).empty()) text += "\nCommands:\n";
    for (const CLI::App* const below : commands_of(command))
        text += fmt::format("  {}\n{}", below->get_name(), broken(below->get_description(), 6, width));
    if (!command.get_footer().empty()) text += "\n" + broken(command.get_footer(), 0, width);
    return text;
}

std::string manual_page(const CLI::App& command, const std::string& path) {
    const auto escaped = [](std::string_view text) {
        std::string out;
        for (const char c : text) {
            if (c == '\\' || c == '-') out += '\\';
            if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
            out += c;
        }
        return out;
    };
    std::string name = path;
    std::ranges::replace(name, ' ', '-');
    std::string text = fmt::format(
        ".TH {} 1 \"\" \"paretoken {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", escaped(name),
        version(), escaped(name), escaped(command.get_description()), escaped(usage_of(command, path)));
    if (const HelpPage* const page = page_of(command.get_parent() == nullptr ? "" : command.get_name())) {
        text += ".SH EXAMPLES\n";
        for (std::size_t i = 0; i + 1 < page->examples.size(); i += 2)
            text += fmt::format(".PP\n{}:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", escaped(page->examples[i]),
                                escaped(page->examples[i + 1]));
    }
    text += ".SH OPTIONS\n";
    for (const CLI::Option* const option : command.get_options())
        text += fmt::format(".TP\n.B {}\n{}\n", escaped(title_of(*option)), escaped(description_of(*option)));
    if (!commands_of(command).empty()) text += ".SH COMMANDS\n";
    for (const CLI::App* const below : commands_of(command))
        text +=
            fmt::format(".TP\n.B {}\n{}\n", escaped(below->get_name()), escaped(below->get_description()));
    return text;
}

std::string completion_script(const CLI::App& app, std::string_view shell) {
    const auto options_of = [](const CLI::App& command) {
        std::vector<std::string> names;
        for (const CLI::Option* const option : command.get_options())
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        return names;
    };
    std::vector<std::string> commands;
    for (const CLI::App* const command : commands_of(app)) commands.push_back(command->get_name());
    std::string text;
    if (shell == "fish") {
        text += fmt::format("complete -c paretoken -n __fish_use_subcommand -f -a '{}'\n",
                            fmt::join(commands, " "));
        for (const CLI::App* const command : commands_of(app))
            for (const std::string& name : options_of(*command))
                text += fmt::format("complete -c paretoken -n '__fish_seen_subcommand_from {}' -l {}\n",
                                    command->get_name(), name.substr(2));
        return text;
    }
    if (shell != "bash" && shell != "zsh")
        throw UsageError(fmt::format("there is no completion for '{}'; expected bash, zsh or fish", shell));
    if (shell == "zsh") text += "#compdef paretoken\nautoload -U +X bashcompinit && bashcompinit\n";
    text += "_paretoken() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n  case ${COMP_WORDS[1]} in\n";
    for (const CLI::App* const command : commands_of(app)) {
        std::vector<std::string> words = options_of(*command);
        for (const CLI::App* const below : commands_of(*command)) words.push_back(below->get_name());
        text += fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(words, " "));
    }
    text += fmt::format(
        "    *) words='{} --help --version' ;;\n  esac\n"
        "  if [[ $COMP_CWORD -eq 1 ]]; then words='{} --help --version'; fi\n"
        "  if [[ $COMP_CWORD -gt 1 && $word != -* && -z ${{words##--*}} ]]; then words=; fi\n"
        "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
        "complete -o default -F _paretoken paretoken\n",
        fmt::join(commands, " "), fmt::join(commands, " "));
    return text;
}

std::size_t terminal_width() {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return kUsual;
    return std::clamp<std::size_t>(size.ws_col, 60, 120);
}

}  // namespace paretoken::cli
