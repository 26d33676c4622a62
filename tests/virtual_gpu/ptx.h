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
    int line = 0;  ///< line of the PTX
    /// A predicate register such as "%p1". The lanes in which it is false skip the instruction. Empty: none.
    std::string guard = {};
    bool guard_inverted = false;  ///< the "!" of "@!%p1": the lanes in which it is true skip the instruction
    std::vector<std::string> mnemonic = {};  ///< "ld", "global", "v2", "u32"
    std::vector<std::string> operands = {};  ///< "{%r1, %r2}", "[%rd1+8]"
    std::string text = {};                   ///< without the guard, for messages
    int source_file = 0;  ///< file number of the last .loc, a key of ModuleText::sources; 0: unknown
    int source_line = 0;  ///< line of the last .loc
};

/// Memory that has a name: a parameter, or an array in shared memory.
struct Variable {
    std::string name = {};
    std::size_t bytes = 0;      ///< 0: the launch gives the size
    std::size_t alignment = 1;  ///< bytes
};

struct KernelText {
    std::string name = {};  ///< mangled
    int line = 0;           ///< line of the PTX in which the kernel begins
    int max_threads = 0;    ///< product of the extents in .maxntid; 0: not stated
    std::vector<Variable> parameters = {};
    std::vector<Variable> shared = {};  ///< declared inside the kernel
    /// Registers: their name, or the prefix "%r" of a declaration such as "%r<8>" → their type: "b32",
    /// "pred", …
    std::map<std::string, std::string, std::less<>> registers = {};
    std::map<std::string, std::size_t, std::less<>> labels = {};  ///< label → index of the next statement
    std::vector<Statement> statements = {};
};

struct ModuleText {
    std::string file = {};                    ///< name of the PTX file, for messages
    int capability = 0;                       ///< compute capability × 10, from .target
    std::vector<Variable> shared = {};        ///< declared outside of kernels
    std::map<int, std::string> sources = {};  ///< from .file: file number → file name
    std::vector<KernelText> kernels = {};
};

/// Parses the text of a PTX file. Throws a RuntimeError that names the file, the line and the problem if a
/// part of the text is wrong or not supported.
ModuleText parse_ptx(std::string_view text, std::string file);

/// The parts of an operand: "{%r1, %r2}" has the parts "%r1" and "%r2"; any other operand is one part.
std::vector<std::string> parts_of(std::string_view operand);

}  // namespace paretoken::virtual_gpu
