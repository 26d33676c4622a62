#pragma once
// Parses PTX text: the kernels of a file and their statements. The parser does not know what an instruction
// does; program.h gives statements their meaning.
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
    int source_file = 0;  ///< file number of the last .loc, a key of ModuleText::sources; 0: unknown
    int source_line = 0;  ///< line of the last .loc
};

/// Memory that has a name: a parameter, or an array in shared memory.
struct Variable {
    std::string name = {};
    std::size_t bytes = 0;  ///< 0: the launch gives the size
    std::size_t alignment = 1;
};

struct KernelText {
    std::string name = {};
    int line = 0;
    int max_threads = 0;  ///< product of the extents in .maxntid; 0: not stated
    std::vector<Variable> parameters = {};
    std::vector<Variable> shared = {};
    /// Name, or the prefix "%r" of "%r<8>" → type: "b32", "pred", …
    std::map<std::string, std::string, std::less<>> registers = {};
    std::map<std::string, std::size_t, std::less<>> labels = {};  ///< label → index of the next statement
    std::vector<Statement> statements = {};
};

struct ModuleText {
    std::string file = {};
    int capability = 0;                       ///< compute capability × 10, from .target
    std::vector<Variable> shared = {};        ///< declared outside of kernels
    std::map<int, std::string> sources = {};  ///< from .file: file number → file name
    std::vector<KernelText> kernels = {};
};

/// Throws a RuntimeError that names the file, the line and the text that it does not understand.
ModuleText parse_ptx(std::string_view text, std::string file);

/// The parts of an operand: "{%r1, %r2}" has the parts "%r1" and "%r2"; any other operand is one part.
std::vector<std::string> parts_of(std::string_view operand);

}  // namespace paretoken::virtual_gpu
