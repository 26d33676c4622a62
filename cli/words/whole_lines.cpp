// Whole command lines of other tools: the words with which they begin, and what takes the place of programs
// that are not translated.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "cli/words/shell/splitting.h"
#include "core/error.h"
#include "core/text/letter_case.h"

namespace paretoken::cli {
namespace {

/// The words with which a line of a tool begins. "$" is a variable that holds the program, and a word that
/// begins with a point ends the name of a module.
struct Start {
    Tool tool;
    std::vector<std::string_view> words;
    Form form = Form::usual;
};

const std::vector<Start>& starts() {
    static const std::vector<Start> kStarts = {
        {Tool::vllm, {"vllm", "bench", "serve"}},
        {Tool::vllm, {"vllm.entrypoints.cli.main", "bench", "serve"}},
        {Tool::vllm, {"vllm.benchmarks.serve"}},
        {Tool::vllm, {"*benchmarks/serve.py"}},
        {Tool::vllm, {"vllm-bench", "serve"}},
        {Tool::vllm, {"vllm-bench"}},
        {Tool::vllm, {"bench", "serve"}},  // the program is a variable
        {Tool::vllm, {"vllm", "bench", "throughput"}, Form::vllm_batch},
        {Tool::vllm, {"benchmark_throughput.py"}, Form::vllm_batch},
        {Tool::vllm, {"$", "bench", "throughput"}, Form::vllm_batch},
        {Tool::vllm, {"vllm", "bench", "latency"}, Form::vllm_static},
        {Tool::vllm, {"$", "bench", "latency"}, Form::vllm_static},
        {Tool::vllm, {"benchmark_latency.py"}, Form::vllm_static},
        {Tool::vllm, {"benchmark_serving.py"}, Form::old_vllm},
        {Tool::vllm, {".benchmark_serving"}, Form::old_vllm},
        {Tool::vllm, {"run_benchmark_serving"}, Form::inferencex},
        {Tool::sglang, {".bench_serving"}},  // also of engines that took SGLang's over
        {Tool::sglang, {"sglang.benchmark.serving"}},
        {Tool::sglang, {"*bench_serving.py"}},
        {Tool::sglang, {"bench_serving"}},  // python3 -m
        {Tool::sglang, {".bench_offline_throughput"}, Form::sglang_batch},
        {Tool::sglang, {"sglang.benchmark.offline_throughput"}, Form::sglang_batch},
        {Tool::sglang, {".bench_one_batch_server"}, Form::sglang_static},
        {Tool::sglang, {"sglang.benchmark.one_batch_server"}, Form::sglang_static},
        {Tool::sglang, {".bench_one_batch"}, Form::sglang_static},
        {Tool::sglang, {".bench_latency"}, Form::sglang_static},
        {Tool::guidellm, {"guidellm", "benchmark", "run"}},
        {Tool::guidellm, {"guidellm", "benchmark"}},
        {Tool::guidellm, {"guidellm", "run"}},
        {Tool::guidellm, {"guidellm"}},
        {Tool::guidellm, {"*guidellm/main.py"}},
        {Tool::guidellm, {"$", "benchmark"}},
        {Tool::aiperf, {"aiperf", "profile"}},
        {Tool::aiperf, {"$", "profile"}},
        {Tool::aiperf, {"genai-perf", "profile"}, Form::genai_perf},
        {Tool::aiperf, {"genai-perf", "analyze"}, Form::genai_perf},
        {Tool::aiperf, {"genai-perf"}, Form::genai_perf},
        {Tool::genai_bench, {"genai-bench", "benchmark"}},
        {Tool::llmperf, {"token_benchmark_ray.py"}},
        {Tool::evalscope, {"evalscope", "perf"}},
        {Tool::inference_benchmarker, {"inference-benchmarker"}},
        {Tool::perf_analyzer, {"perf_analyzer"}},
    };
    return kStarts;
}

/// A program whose lines are not translated, and what does the same here.
struct Elsewhere {
    std::vector<std::string_view> words;
    std::string_view here;
};

const std::vector<Elsewhere>& elsewhere() {
    static const std::vector<Elsewhere> kElsewhere = {
        {{"vllm", "bench", "sweep", "plot"}, "`paretoken report DIR` draws the curves of a sweep"},
        {{"vllm", "bench", "sweep", "plot_pareto"}, "`paretoken report DIR` draws the front of a sweep"},
        {{"vllm", "bench", "sweep", "startup"}, "the time that a server needs to start is not measured"},
        {{"vllm", "bench", "startup"}, "the time that a server needs to start is not measured"},
        {{"vllm", "bench", "mm-processor"}, "requests with images, audio or video are not sent"},
        {{"benchmark_prefix_caching.py"},
         "`paretoken cache URL` measures what prefix caching saves on a server"},
        {{"benchmark_long_document_qa_throughput.py"},
         "`paretoken run URL --dataset shared_prefix:groups=8,levels=2000,unique=20 --osl 50` asks about "
         "long documents again and again"},
        {{"benchmark_serving_multi_turn.py"},
         "`paretoken run URL --dataset multi_turn:turns=4,first=500,next=100 --concurrency 8` measures "
         "conversations; a file of them is given with --dataset sharegpt --dataset-path FILE"},
        {{"benchmark_serving_structured_output.py"},
         "answers with a schema are asked for with --extra-body '{\"response_format\": …}' of `paretoken "
         "run`"},
        {{"aiperf", "plot"}, "`paretoken report DIR` draws the results"},
        {{"aiperf", "analyze-trace"},
         "`paretoken dataset describe FILE` describes a trace, and `paretoken "
         "dataset audit FILE` what a prefix cache could serve of it"},
        {{"aiperf", "synthesize-trace"},
         "a trace is sent with its lengths and prefixes; `paretoken run URL --dataset mooncake "
         "--dataset-path FILE "
         "--arrivals trace:scale=0.5` sends it twice as fast"},
        {{"aiperf", "analyze"}, "`paretoken report DIR` draws the results"},
        {{"aiperf", "chat"}, "`paretoken try URL` says how fast a server answers one person"},
        {{"aiperf", "config"}, "`paretoken run … --print-config` writes a configuration file"},
        {{"genai-perf", "process-export-files"}, "`paretoken import FILE… --out DIR` reads its result files"},
        {{"genai-perf", "compare"}, "`paretoken compare A B` shows results side by side"},
        {{"genai-perf", "config"}, "`paretoken run --config FILE` reads options from a file"},
        {{"genai-perf", "create-template"}, "`paretoken run … --print-config` writes a configuration file"},
        {{"inference-perf", "--analyze"}, "`paretoken report DIR` draws the results"},
        {{"inference-perf", "-a"}, "`paretoken report DIR` draws the results"},
        {{"text-generation-benchmark"},
         "it loads a model beside its server; `paretoken sweep URL --concurrency 1,2,4,8,16,32 --isl "
         "SEQUENCE_LENGTH --osl DECODE_LENGTH` measures its batches on a server"},
        {{"multi-round-qa.py"},
         "`paretoken run URL --arrivals users:n=USERS,rate=QPS --dataset "
         "agents:jobs=USERS,turns=ROUNDS,fanout=0,prefix=SYSTEM_PROMPT,first=USER_HISTORY,next=100,osl="
         "ANSWER` "
         "asks as its users do"},
        {{"long_doc_qa.py"},
         "`paretoken run URL --dataset shared_prefix:groups=DOCUMENTS,levels=LENGTH,unique=20 --osl 100` "
         "asks "
         "about long documents again and again"},
        {{"guidellm", "benchmark", "from-file"},
         "`paretoken report benchmarks.json` shows its results, and `paretoken import benchmarks.json --out "
         "DIR` keeps them"},
        {{"guidellm", "export"}, "`paretoken export benchmarks.json --format FORMAT` writes other formats"},
        {{"guidellm", "preprocess"},
         "`paretoken dataset convert FILE OUT.jsonl` converts a file of requests"},
        {{"guidellm", "mock-server"}, "`paretoken serve` runs a simulated server"},
        {{"guidellm", "config"}, "`paretoken run --help-all` shows the options"},
        {{"genai-bench", "excel"}, "`paretoken export DIR --format csv` writes tables"},
        {{"genai-bench", "plot"}, "`paretoken report DIR` draws the results"},
        {{"llm_correctness.py"}, "`paretoken run URL --probe FILE` asks questions with known answers"},
        {{"llama-bench"},
         "it loads a model itself; start `llama-server -m MODEL --port 8080`, and `paretoken try "
         "http://127.0.0.1:8080` measures pp and tg by depth"},
        {{"llama-batched-bench"},
         "it loads a model itself; start `llama-server -m MODEL --port 8080 -np 32`, and `paretoken sweep "
         "http://127.0.0.1:8080 --concurrency 1..32 --isl PP --osl TG` measures its -npl levels"},
        {{"trtllm-bench"},
         "it loads an engine itself; start `trtllm-serve MODEL`, and `paretoken run http://127.0.0.1:8000 "
         "--concurrency N --isl IN --osl OUT` measures it"},
        {{"k6"},
         "its load stands in a script; --vus N is --concurrency N, --duration is --duration, and a constant "
         "arrival rate is --arrivals constant:rate=R of `paretoken run URL`"},
        {{"locust"},
         "its load stands in a script; -u N is --concurrency N, -r N is --ramp-up, and -t is --duration of "
         "`paretoken run URL`"},
        {{"oha"},
         "-c N is --concurrency N, -n is --num-prompts, -z is --duration, and -q R is --arrivals "
         "constant:rate=R of `paretoken run URL`; the body is made from --isl and --osl"},
        {{"hey"},
         "-c N is --concurrency N, -n is --num-prompts, and -z is --duration of `paretoken run URL`; the "
         "body is made from --isl and --osl"},
        {{"ab"},
         "-c N is --concurrency N, -n is --num-prompts, and -t is --duration of `paretoken run URL`; the "
         "body is made from --isl and --osl"},
        {{"wrk"},
         "-c N is --concurrency N, and -d is --duration of `paretoken run URL`; the body is made from "
         "--isl and --osl"},
        {{"wrk2"},
         "-R R is --arrivals constant:rate=R, and -d is --duration of `paretoken run URL`; the body "
         "is made from --isl and --osl"},
        {{"vegeta"},
         "-rate=R is --arrivals constant:rate=R, and -duration is --duration of `paretoken run "
         "URL`; the body is made from --isl and --osl"},
    };
    return kElsewhere;
}

/// The name of a program that is given with its directory, as a container image with its tag, or behind the
/// mark of a notebook or of a subshell.
std::string_view program_in(std::string_view word) {
    if (word.substr(0, word.find('/')).find('=') != std::string_view::npos || word.ends_with(':'))
        return {};  // NAME=DIRECTORY/program, the rule of a Makefile
    word.remove_prefix(std::min(word.find_first_not_of("!("), word.size()));
    word.remove_prefix(word.rfind('/') + 1);
    return word.substr(0, word.find(':'));
}

/// Whether the words of a command at `begin` are these. Only the program may have a directory.
bool begins_with(const Words& line, std::size_t begin, const std::vector<std::string_view>& wanted) {
    const auto is_program = [](std::string_view want, const std::string& word) {
        if (want == "$") return word.starts_with('$');
        if (want.starts_with('.')) return word.ends_with(want);
        if (want.starts_with('*')) return word.ends_with(want.substr(1));
        return word == want || program_in(word) == want;
    };
    const auto at = static_cast<std::ptrdiff_t>(begin);
    return begin + wanted.size() <= line.size() && is_program(wanted.front(), line[begin]) &&
           std::equal(wanted.begin() + 1, wanted.end(), line.begin() + at + 1);
}

/// A variable from which a tool takes what an option gives.
struct Setting {
    Tool tool;
    std::string_view variable;
    std::string_view option;
};
constexpr std::array kSettings = {
    Setting{Tool::guidellm, "GUIDELLM__MAX_CONCURRENCY", "--max-concurrency"},
    Setting{Tool::guidellm, "GUIDELLM__PREFERRED_ROUTE", "--request-format"},
    Setting{Tool::guidellm, "GUIDELLM__REQUEST_TIMEOUT", "--request-timeout"},
    Setting{Tool::llmperf, "OPENAI_API_BASE", "--url"},
};

/// Whether a line of guidellm sweeps rates whose number it does not say.
bool sweeps_by_itself(const Words& line) {
    bool names_profile = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string name = name_in(line[i]);
        if (name == "--rate") return false;
        if (name == "--rate-type" || name == "--profile")
            names_profile = !value_after(line, i).ends_with("sweep");
    }
    return !names_profile;
}

/// The options that a tool takes from variables, of those that are set before it: "-e
/// GUIDELLM_MAX_SECONDS=30", "export OPENAI_API_BASE=http://h:8000/v1". `line` is the tool's own line.
Words options_of_environment(Tool tool, const Words& before, const Words& line) {
    constexpr std::string_view kOfGuidellm = "GUIDELLM_";
    constexpr std::string_view kRatesOfSweep = "GUIDELLM__NUM_SWEEP_PROFILES";
    Words options;
    for (const std::string& word : before) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) continue;
        const std::string_view variable = std::string_view(word).substr(0, equals);
        const auto* const setting = std::ranges::find_if(
            kSettings, [&](const Setting& one) { return one.tool == tool && one.variable == variable; });
        std::string name;
        if (tool == Tool::guidellm && variable == kRatesOfSweep) {
            // The number of rates besides one request at a time and all at once; --rate counts them all.
            const std::string count = word.substr(equals + 1);
            if (sweeps_by_itself(line) && is_whole_number(count) && count.size() < 4)
                options.insert(options.end(), {"--rate", std::to_string(std::stoi(count) + 2)});
        } else if (setting != kSettings.end())
            name = setting->option;
        else if (tool == Tool::guidellm && variable.starts_with(kOfGuidellm) &&
                 variable[kOfGuidellm.size()] != '_')  // those of two underscores are settings
            name = lower_case(name_in("--" + std::string(variable.substr(kOfGuidellm.size()))));
        if (!name.empty()) options.insert(options.end(), {name, word.substr(equals + 1)});
    }
    return options;
}

/// vLLM's short names of options of its server begin with one dash, as -t of other tools does.
void write_out_server_options(Words& words) {
    constexpr std::array kNames = {
        std::pair{"-tp", "--tensor-parallel-size"}, std::pair{"-pp", "--pipeline-parallel-size"},
        std::pair{"-dp", "--data-parallel-size"}, std::pair{"-ep", "--enable-expert-parallel"}};
    for (std::string& word : words)
        for (const auto& [name, full] : kNames)
            if (word.substr(0, word.find('=')) == name) word.replace(0, std::string_view(name).size(), full);
}

/// `before` are the words before the program, and those of earlier commands.
Translation translated_from(const Start& start, const Words& line, std::size_t begin, const Words& before) {
    const OwnOptions own = [](const std::string&) { return std::optional<Values>(); };
    const Words own_words(line.begin() + static_cast<std::ptrdiff_t>(begin + start.words.size()), line.end());
    Words words = options_of_environment(start.tool, before, own_words);
    words.insert(words.end(), own_words.begin(), own_words.end());
    const Origin origin{.tool = start.tool, .whole = true, .form = start.form};
    if (start.tool == Tool::vllm && origin.starts_server()) write_out_server_options(words);
    return composed(words, origin, "run", own);
}

/// Whether a program of one word, whose name may also be that of a container or a directory, runs at `begin`:
/// as the first word, or behind a program that starts another one.
bool starts_program(const Words& line, std::size_t begin) {
    constexpr std::array kBefore = {"do",    "then", "else", "if",         "while", "until",  "time",
                                    "nohup", "exec", "eval", "!",          "{",     "$",      "%",
                                    "-",     "RUN",  "CMD",  "ENTRYPOINT", "run:",  "command"};
    constexpr std::array kStarters = {
        "python",    "docker",      "podman", "nerdctl",       "kubectl", "oc",      "uv",
        "uvx",       "pipx",        "poetry", "pixi",          "conda",   "mamba",   "hatch",
        "timeout",   "taskset",     "srun",   "env",           "sudo",    "numactl", "mpirun",
        "mpiexec",   "torchrun",    "nsys",   "ncu",           "ssh",     "bash",    "sh",
        "chroot",    "setsid",      "stdbuf", "nice",          "ionice",  "xargs",   "watch",
        "apptainer", "singularity", "enroot", "docker-compose"};
    constexpr std::array kOfContainers = {"docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose"};
    constexpr std::array kFlags = {"--rm",          "--init",     "--privileged", "--tty",
                                   "--interactive", "--detach",   "--pty",        "--",
                                   "--no-sync",     "--isolated", "--frozen",     "--overlap"};
    constexpr std::string_view kWithValue = "ncpwuleveNJqOgGo";
    const auto is_in = [](const auto& names, std::string_view word) {
        return std::ranges::find(names, word) != names.end();
    };
    std::size_t first = 0;
    while (first < begin && (is_in(kBefore, line[first]) || line[first].find('=') != std::string::npos))
        ++first;
    if (first == begin) return true;
    const std::string_view starter = program_in(line[first]);
    if (!is_in(kStarters, starter) && !starter.starts_with("python") && !line[first].starts_with('$'))
        return false;
    const bool runs = std::any_of(line.begin() + static_cast<std::ptrdiff_t>(first),
                                  line.begin() + static_cast<std::ptrdiff_t>(begin),
                                  [](const std::string& word) { return word == "exec" || word == "run"; });
    const bool is_container = std::any_of(
        line.begin() + static_cast<std::ptrdiff_t>(first), line.begin() + static_cast<std::ptrdiff_t>(begin),
        [&](const std::string& word) { return is_in(kOfContainers, program_in(word)); });
    if (is_container && !runs) return false;  // "kubectl logs jobs/inference-perf"
    const std::string& before = line[begin - 1];
    if (starter.starts_with("python") || !before.starts_with('-') || before.find('=') != std::string::npos)
        return true;
    return before.starts_with("--")
               ? is_in(kFlags, before)
               : before.size() != 2 || kWithValue.find(before[1]) == std::string_view::npos;
}

/// Whether the words before `end` say that a command does not run the program that it names: "pip install
/// guidellm", "cd guidellm".
bool only_names_program(const Words& line, std::size_t end) {
    static constexpr std::array kOthers = {"install", "add",   "pull", "clone", "build",
                                           "cd",      "mkdir", "echo", "printf"};
    return std::any_of(
        line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
        [](const std::string& word) { return std::ranges::find(kOthers, word) != kOthers.end(); });
}

/// Returns "kubectl run NAME --image IMAGE --env NAME=VALUE -- WORDS" as the image of a tool, whose variables
/// stand before it, with the words behind it. Other commands stay as they are.
Words without_kubectl(const Words& line) {
    if (line.size() < 3 || (program_in(line[0]) != "kubectl" && program_in(line[0]) != "oc") ||
        line[1] != "run")
        return line;
    Words words;
    std::string image;
    auto rest = std::ranges::find(line, "--");
    for (auto word = line.begin(); word < rest; ++word) {
        const std::string name = name_in(*word);
        if (name != "--image" && name != "--env") continue;
        const std::string value = value_after(line, static_cast<std::size_t>(word - line.begin()));
        if (name == "--image")
            image = value;
        else
            words.push_back(value);
    }
    if (program_in(image) != "guidellm") return line;
    if (rest != line.end()) ++rest;
    constexpr std::array kPrograms = {"guidellm", "python", "python3", "bash", "sh"};
    if (rest == line.end() || std::ranges::find(kPrograms, program_in(*rest)) == kPrograms.end())
        words.push_back(image);
    words.insert(words.end(), rest, line.end());
    return words;
}

/// Returns the translation of one command; nothing if it is none of a known tool. `before` are the words of
/// earlier commands.
std::optional<Translation> translation_of_command(const Words& line, Words before) {
    constexpr std::size_t kMostBefore = 80;  // "docker run … aiperf profile"
    const auto rest = [&](std::size_t from) {
        return Words(line.begin() + static_cast<std::ptrdiff_t>(from), line.end());
    };
    const auto is_run = [&](std::size_t begin, const std::vector<std::string_view>& words) {
        if (!begins_with(line, begin, words)) return false;
        const std::size_t end = begin + words.size();
        const bool is_file = words.front().ends_with(".py") || words.front().starts_with('.');
        const bool goes_on = end < line.size() && (line[end].starts_with('-') || line[end] == "run");
        const bool ends = end >= line.size() && line[begin].find('/') != std::string::npos;
        const bool is_in_array = begin > 0 && line[begin - 1].ends_with('=');
        if (words.front() == "$" && !is_in_array && !starts_program(line, begin))
            return false;  // "cp $FILE profile"
        if (words.size() > 1 || begin == 0) return true;
        return (goes_on || ends) && (is_file || starts_program(line, begin));
    };
    for (std::size_t begin = 0; begin < line.size() && begin < kMostBefore; ++begin) {
        if (only_names_program(line, begin)) return std::nullopt;
        for (const char* const kind : {"serve", "serve_workload", "serve_sla"})
            if (begins_with(line, begin, {"bench", "sweep", kind})) return translated_sweep(rest(begin + 3));
        const Elsewhere* other = nullptr;  // the longest
        for (const Elsewhere& one : elsewhere())
            if (is_run(begin, one.words) && (other == nullptr || one.words.size() > other->words.size()))
                other = &one;
        if (other != nullptr)
            throw UsageError(fmt::format("{}: {}", fmt::join(other->words, " "), other->here));
        if (is_run(begin, {"inference-perf"})) return translated_inference_perf(rest(begin + 1));
        for (const Start& start : starts())
            if (is_run(begin, start.words)) return translated_from(start, line, begin, before);
        before.push_back(line[begin]);
    }
    return std::nullopt;
}

enum class Inside : std::uint8_t { commands, assignments };

/// Adds the translations of the commands that are of a known tool, or of such a command inside a word: ssh
/// HOST "…", RESULT=$(…). Commands that are only kept for later, COMMAND="…", are those of `assignments`.
void add_translations(const std::vector<Words>& commands, Inside inside_of,
                      std::vector<Translation>& translations, Words& complaints) {
    Words before;
    for (std::size_t place = 0; place < commands.size(); ++place) {
        const Words& command = commands[place];
        const std::size_t of_before = translations.size();
        const std::size_t found = of_before + complaints.size();
        // A script that keeps a command in an array first sets it, args=(…), and then runs it.
        const bool is_array = std::ranges::any_of(command, [](const std::string& word) {
            return word.size() > 1 && word.ends_with('=') && !word.starts_with('-');
        });
        if (is_array && inside_of == Inside::commands) continue;
        try {
            if (auto one = translation_of_command(without_kubectl(command), before))
                translations.push_back(*std::move(one));
        } catch (const UsageError& error) {
            if (std::ranges::find(complaints, error.what()) == complaints.end())
                complaints.emplace_back(error.what());
        }
        before.insert(before.end(), command.begin(), command.end());
        const bool is_done =
            found < translations.size() + complaints.size() || only_names_program(command, 1);
        for (std::string word : is_done ? Words() : command) {
            if (word.find(' ') == std::string::npos) continue;
            const auto equals = word.find('=');
            if (const auto inner = word.find("$("); inner < word.find(' ') && word.ends_with(')'))
                word = word.substr(inner + 2, word.size() - inner - 3);
            else if (equals < word.find(' ') && inside_of == Inside::commands)
                continue;
            else if (equals < word.find(' '))
                word.erase(0, equals + 1);
            std::vector<Words> inside;
            try {
                inside = commands_in(word);
            } catch (const UsageError&) {  // a text with an apostrophe
                continue;
            }
            if (inside.size() != 1 || inside.front() != command)
                add_translations(inside, inside_of, translations, complaints);
        }
        for (std::size_t i = of_before; i < translations.size(); ++i)
            note_loops(commands, place, translations[i]);
    }
}

/// Gives lines that write to the same directory different ones, and says where prompts repeat: lines of other
/// tools that share a seed, or are the same, have the same prompts.
void tell_apart(std::vector<Translation>& translations) {
    std::map<std::string, int> outs;
    std::map<std::string, int> seeds;
    std::map<Words, Translation*> lines;
    for (Translation& translation : translations) {
        Words& words = translation.words;
        const auto value_of = [&](const char* option) {
            const auto found = std::ranges::find(words, option);
            return found == words.end() || found + 1 == words.end() ? words.end() : found + 1;
        };
        Words rest = words;
        if (const auto out = value_of("--out"); out != words.end()) {
            rest.erase(rest.begin() + (out - 1 - words.begin()), rest.begin() + (out + 1 - words.begin()));
            if (const int count = ++outs[*out]; count > 1) *out += fmt::format("-{}", count);
        }
        const auto seed = value_of("--seed");
        const bool is_made = value_of("--dataset-path") == words.end();
        const bool is_shared = seed != words.end() && is_made && ++seeds[*seed] > 1;
        const auto [same, is_new] = lines.try_emplace(rest, &translation);
        // Their prompts are the same without a seed, too.
        const bool repeats = seed != words.end() || translation.tool == Tool::vllm ||
                             translation.tool == Tool::sglang || translation.tool == Tool::guidellm;
        if (is_new ? !is_shared : !is_made || !repeats) continue;
        if (is_new) {
            translation.notes.push_back(fmt::format(
                "there, lines with the same seed have the same prompts; here each run has new ones, "
                "unless all these lines get --salt {}",
                *seed));
            continue;
        }
        for (Translation* const of : {same->second, &translation})
            if (std::ranges::find(of->words, "--salt") == of->words.end())
                of->words.insert(of->words.end(), {"--salt", "again"});
        translation.notes.emplace_back(
            "there, both lines have the same prompts, which a prefix cache may hold; so they have with the "
            "same "
            "--salt");
    }
}

}  // namespace

std::vector<Translation> translations_of(const std::vector<std::vector<std::string>>& commands,
                                         std::vector<std::string>& complaints) {
    std::vector<Translation> translations;
    for (const Inside inside : {Inside::commands, Inside::assignments})
        if (translations.empty() && complaints.empty())
            add_translations(commands, inside, translations, complaints);
    tell_apart(translations);
    if (translations.empty() && complaints.empty())
        complaints.emplace_back(
            "the line begins with no known tool; expected vllm bench serve …, python3 -m "
            "sglang.bench_serving …, guidellm benchmark … or guidellm run …, aiperf profile … or genai-perf "
            "profile …, genai-bench benchmark …, token_benchmark_ray.py …, evalscope perf …, "
            "inference-benchmarker …, or perf_analyzer …");
    return translations;
}

Translation translation_of(const std::vector<std::vector<std::string>>& commands) {
    std::vector<std::string> complaints;
    auto translations = translations_of(commands, complaints);
    if (!complaints.empty()) throw UsageError(complaints.front());
    return std::move(translations.front());
}

}  // namespace paretoken::cli
