#pragma once
// PTX as text: which kernels a file holds and of what statements they consist. Nothing here knows what an
// instruction does.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::virtual_gpu {

/// One instruction as written: "@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];"
struct Statement {
    int line = 0;
    std::string guard = {};  ///< "%p1"; empty: none
    bool guard_inverted = false;
    std::vector<std::string> mnemonic = {};  ///< "ld", "global", "v2", "u32"
    std::vector<std::string> operands = {};  ///< "{%r1, %r2}", "[%rd1+8]"
    std::string text = {};                   ///< without the guard, for messages
    int source_file = 0;                     ///< of .loc: ModuleText::sources; 0: not told
    int source_line = 0;
};

/// Memory of a name: a parameter, or an array in shared memory.
struct Variable {
    std::string name = {};
    std::size_t bytes = 0;  ///< 0: as much as the launch asks for
    std::size_t alignment = 1;
};

struct KernelText {
    std::string name = {};
    int line = 0;
    int max_threads = 0;  ///< of .maxntid; 0: not stated
    std::vector<Variable> parameters = {};
    std::vector<Variable> shared = {};
    std::map<std::string, std::string, std::less<>> registers =
        {};  ///< prefix with "<" or whole name → "b32", "pred", …
    std::map<std::string, std::size_t, std::less<>> labels = {};  ///< → index of the next statement
    std::vector<Statement> statements = {};
};

struct ModuleText {
    std::string file = {};
    int capability = 0;                       ///< of .target, × 10
    std::vector<Variable> shared = {};        ///< outside kernels
    std::map<int, std::string> sources = {};  ///< of .file: what .loc counts
    std::vector<KernelText> kernels = {};
};

/// RuntimeError names the file, the line and what is not understood.
ModuleText parse_ptx(std::string_view text, std::string file);

/// "{%r1, %r2}" → "%r1", "%r2"; anything else is one part.
std::vector<std::string> parts_of(std::string_view operand);

}  // namespace paretoken::virtual_gpu
