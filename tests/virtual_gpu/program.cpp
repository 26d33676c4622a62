#include "tests/virtual_gpu/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "tests/virtual_gpu/arithmetic.h"

namespace paretoken::virtual_gpu {
namespace {

std::size_t rounded_up(std::size_t value, std::size_t to) {
    return (value + to - 1) / to * to;
}

/// The size in bytes of a type in memory: "u32" has 4. Returns nothing for any other text.
std::optional<std::uint8_t> bytes_of_type(std::string_view part) {
    static const std::map<std::string_view, std::uint8_t> sizes{
        {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"b32", 4},
        {"u32", 4}, {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
    const auto found = sizes.find(part);
    if (found == sizes.end()) return std::nullopt;
    return found->second;
}

/// The bits of a number such as "-12", "0x1f", "0f3F800000" or "0d3FF0000000000000"; nothing if the text is
/// not a number.
std::optional<std::uint64_t> number(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    int base = 10;
    if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") ||
        text.starts_with("0D") || text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    if (base == 10 && text.ends_with('U')) text.remove_suffix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return negative ? 0 - value : value;
}

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

/// True if the text contains the name as a whole word.
bool is_named(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || !is_name_character(text[at - 1])) &&
            (end == text.size() || !is_name_character(text[end])))
            return true;
    }
    return false;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\n\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

class Assembler {
  public:
    Assembler(const ModuleText& module, const KernelText& text) : module_(module), text_(text) {
        kernel_.file = module.file;
        kernel_.name = text.name;
        kernel_.line = text.line;
        kernel_.capability = module.capability;
        kernel_.max_threads = text.max_threads;
    }

    Kernel assembled() {
        lay_out_memory();
        for (const Statement& statement : text_.statements) {
            statement_ = &statement;
            kernel_.instructions.push_back(instruction());
            kernel_.texts.push_back(statement.text);
            const auto source = module_.sources.find(statement.source_file);
            kernel_.sources.push_back(source == module_.sources.end()
                                          ? std::string()
                                          : fmt::format("{}:{}", source->second, statement.source_line));
        }
        return std::move(kernel_);
    }

  private:
    [[noreturn]] void complain(std::string_view what) const {
        throw RuntimeError(
            fmt::format("{}:{}: {}: {}", module_.file, statement_->line, what, statement_->text));
    }

    void lay_out_memory() {
        for (const Variable& parameter : text_.parameters) {
            const std::size_t at = rounded_up(kernel_.parameter_bytes, parameter.alignment);
            symbols_.emplace(parameter.name, at);
            kernel_.parameters.push_back({at, parameter.bytes});
            kernel_.parameter_bytes = at + parameter.bytes;
        }
        const std::vector<Variable> shared = used_shared();
        for (const Variable& variable : shared) {
            if (variable.bytes == 0) continue;
            const std::size_t at = rounded_up(kernel_.static_shared, variable.alignment);
            symbols_.emplace(variable.name, at);
            kernel_.static_shared = at + variable.bytes;
        }
        // Shared memory whose size the launch gives comes last. All its names have the same address.
        std::size_t alignment = 1;
        for (const Variable& variable : shared) {
            if (variable.bytes == 0) alignment = std::max(alignment, variable.alignment);
        }
        kernel_.static_shared = rounded_up(kernel_.static_shared, alignment);
        for (const Variable& variable : shared) {
            if (variable.bytes == 0) symbols_.emplace(variable.name, kernel_.static_shared);
        }
    }
    std::vector<Variable> used_shared() const {
        std::vector<Variable> shared = text_.shared;
        for (const Variable& variable : module_.shared) {
            const bool used = std::any_of(
                text_.statements.begin(), text_.statements.end(), [&](const Statement& statement) {
                    return std::any_of(
                        statement.operands.begin(), statement.operands.end(),
                        [&](const std::string& operand) { return is_named(operand, variable.name); });
                });
            if (used) shared.push_back(variable);
        }
        return shared;
    }

    const std::string& part(std::size_t index) const {
        static const std::string none;
        return index < statement_->mnemonic.size() ? statement_->mnemonic[index] : none;
    }
    bool has(std::string_view wanted) const {
        return std::find(statement_->mnemonic.begin(), statement_->mnemonic.end(), wanted) !=
               statement_->mnemonic.end();
    }
    const std::string& operand(std::size_t index) const {
        if (index >= statement_->operands.size()) complain("an operand is missing");
        return statement_->operands[index];
    }

    /// The size of a register from its declaration; nothing if the name is not declared as a register.
    std::optional<Cell> declared(std::string_view name) const {
        const std::size_t digits = name.find_last_not_of("0123456789") + 1;
        auto found = text_.registers.find(name);
        if (found == text_.registers.end()) found = text_.registers.find(name.substr(0, digits));
        if (found == text_.registers.end()) return std::nullopt;
        if (found->second == "pred") return Cell::predicate;
        return bytes_of_type(found->second).value_or(4) == 8 ? Cell::wide : Cell::narrow;
    }
    Slot new_slot(Cell cell) {
        if (cell == Cell::predicate) return static_cast<Slot>(kernel_.predicates++);
        const auto slot = static_cast<Slot>(kernel_.cells);
        kernel_.cells += (cell == Cell::wide ? 2 : 1) * kLanes;
        return slot;
    }
    Slot register_slot(std::string_view name) {
        const auto found = slots_.find(name);
        if (found != slots_.end()) return found->second;
        const auto cell = declared(name);
        if (!cell) complain(fmt::format("'{}' is not declared", name));
        return slots_.emplace(std::string(name), new_slot(*cell)).first->second;
    }
    /// The slot of a result. The name "_" means that the result is not used.
    Slot target_slot(std::string_view name) { return name == "_" ? kNoSlot : register_slot(name); }
    Slot constant(std::uint64_t value, Cell cell) {
        const auto key = std::make_pair(cell, value);
        const auto found = constants_.find(key);
        if (found != constants_.end()) return found->second;
        const Slot slot = new_slot(cell);
        kernel_.constants.push_back({slot, cell, value});
        return constants_.emplace(key, slot).first->second;
    }
    /// The slot of an operand: a register of this size, or a constant that holds a number or the address of a
    /// named variable.
    Slot source(std::string_view text, Cell cell) {
        if (const auto declared_cell = declared(text)) {
            if (*declared_cell != cell) complain(fmt::format("'{}' has the wrong width", text));
            return register_slot(text);
        }
        if (const auto value = number(text)) return constant(*value, cell);
        const auto symbol = symbols_.find(text);
        if (symbol == symbols_.end()) complain(fmt::format("'{}' is not known", text));
        return constant(symbol->second, cell);
    }

    /// Reads an address such as "[%rd1+8]", "[name]" or "[%r1]" into the instruction.
    void take_address(Instruction& instruction, std::string_view text) {
        if (!text.starts_with('[') || !text.ends_with(']')) complain("an address was expected");
        text = text.substr(1, text.size() - 2);
        const std::size_t plus = text.find('+');
        const std::string_view base = trimmed(text.substr(0, plus));
        if (plus != std::string_view::npos) {
            const auto value = number(trimmed(text.substr(plus + 1)));
            if (!value) complain("a displacement was expected");
            instruction.displacement = static_cast<std::int64_t>(*value);
        }
        instruction.wide = true;
        if (declared(base)) {
            instruction.from[0] = register_slot(base);
            instruction.wide = *declared(base) == Cell::wide;
        } else {
            instruction.from[0] = source(base, Cell::wide);
            instruction.same_place = true;
        }
    }
    Space space() const {
        if (has("local") || has("const") || has("shared::cluster"))
            complain("memory of this kind is not supported");
        if (has("global")) return Space::global;
        if (has("shared") || has("shared::cta")) return Space::shared;
        if (has("param")) return Space::parameter;
        return Space::generic;
    }

    Instruction instruction() {
        Instruction made;
        const std::string& base = part(0);
        if (base == "ld" || base == "st") {
            made = access(base == "ld");
        } else if (base == "mov") {
            made = move();
        } else if (base == "cvta") {
            made = converted_address();
        } else if (base == "bra") {
            made = branch();
        } else if (base == "ret" || base == "exit") {
            made.kind = Kind::leave;
        } else if (base == "bar" || base == "barrier") {
            made = barrier();
        } else if ((base == "membar" && !has("cta")) || (base == "fence" && (has("gpu") || has("sys")))) {
            made.kind = Kind::fence;
        } else if (base == "membar" || base == "fence" || base == "prefetch" || base == "prefetchu" ||
                   base == "griddepcontrol" || base == "discard") {
            made.kind = Kind::nothing;
        } else if (base == "createpolicy") {
            made = of_arithmetic(*arithmetic_of(std::vector<std::string>{"mov", "b64"}), 1);
            made.from[0] = constant(0, Cell::wide);
        } else if (base == "shfl") {
            made = exchanged_value();
        } else if (base == "vote") {
            made = voted();
        } else if (base == "mma") {
            made = multiplied();
        } else if (base == "ldmatrix") {
            made = loaded_matrices();
        } else if (base == "cp") {
            made = copied();
        } else if (base == "atom" || base == "red") {
            made = atomic(base == "red");
        } else if (const auto arithmetic = arithmetic_of(statement_->mnemonic)) {
            if (statement_->operands.size() != arithmetic->from.size() + 1)
                complain("the number of operands is wrong");
            made = of_arithmetic(*arithmetic, 0);
        } else {
            complain("an instruction that is not known");
        }
        made.line = statement_->line;
        if (!statement_->guard.empty()) {
            made.guard = register_slot(statement_->guard);
            made.guard_inverted = statement_->guard_inverted;
        }
        return made;
    }

    /// `skipped`: number of the first sources that the caller sets itself.
    Instruction of_arithmetic(const Arithmetic& arithmetic, std::size_t skipped) {
        Instruction made;
        made.execute = arithmetic.execute;
        made.to[0] = register_slot(operand(0));
        const auto to = declared(operand(0));
        if (to != arithmetic.to) complain("the result has the wrong width");
        for (std::size_t i = skipped; i < arithmetic.from.size(); ++i)
            made.from[i] = source(operand(i + 1), arithmetic.from[i]);
        return made;
    }

    Instruction access(bool load) {
        Instruction made;
        made.kind = load ? Kind::load : Kind::store;
        made.space = space();
        const std::string& type = statement_->mnemonic.back();
        const auto bytes = bytes_of_type(type);
        if (!bytes) complain("a type in memory, such as u32, was expected");
        made.bytes = *bytes;
        made.is_signed = type.starts_with('s');
        made.past_l1 = has("cg") || has("cv") || has("volatile") || has("relaxed") || has("acquire");
        if (has("v2")) made.parts = 2;
        if (has("v4")) made.parts = 4;
        take_address(made, operand(load ? 1 : 0));
        const std::vector<std::string> registers = parts_of(operand(load ? 0 : 1));
        if (registers.size() != made.parts)
            complain("as many registers as elements of the vector were expected");
        // A register may be wider than the value in memory.
        const Cell cell = made.bytes == 8 ? Cell::wide : declared(registers[0]).value_or(Cell::narrow);
        made.wide_values = cell == Cell::wide;
        for (std::size_t i = 0; i < registers.size(); ++i) {
            if (load) {
                if (declared(registers[i]) != cell) complain("the result has the wrong width");
                made.to[i] = register_slot(registers[i]);
            } else {
                made.from[1 + i] = source(registers[i], cell);
            }
        }
        return made;
    }

    Instruction move() {
        const std::string& to = operand(0);
        const std::string& from = operand(1);
        if (from.starts_with('{') || to.starts_with('{')) return packed(to, from);
        Instruction made;
        if (const auto special = special_of(from)) {
            made.kind = Kind::special;
            made.special = special->first;
            made.axis = special->second;
            made.to[0] = register_slot(to);
            if (declared(to) != Cell::narrow) complain("the result has the wrong width");
            return made;
        }
        const auto arithmetic = arithmetic_of(statement_->mnemonic);
        if (!arithmetic) complain("an instruction that is not known");
        return of_arithmetic(*arithmetic, 0);
    }
    static std::optional<std::pair<Special, std::uint8_t>> special_of(std::string_view name) {
        static const std::map<std::string_view, Special> specials{{"%tid", Special::tid},
                                                                  {"%ntid", Special::ntid},
                                                                  {"%ctaid", Special::ctaid},
                                                                  {"%nctaid", Special::nctaid}};
        if (name == "%laneid") return std::make_pair(Special::laneid, std::uint8_t{0});
        const std::size_t dot = name.find('.');
        const auto found = specials.find(name.substr(0, dot));
        if (found == specials.end() || dot == std::string_view::npos) return std::nullopt;
        return std::make_pair(found->second, static_cast<std::uint8_t>(name[dot + 1] - 'x'));
    }
    Instruction packed(const std::string& to, const std::string& from) {
        Instruction made;
        const bool words = part(1) == "b64" || part(1) == "u64" || part(1) == "f64";
        if (!words && part(1) != "b32" && part(1) != "u32") complain("an instruction that is not known");
        const bool packs = from.starts_with('{');
        const std::vector<std::string> parts = parts_of(packs ? from : to);
        if (parts.size() != 2) complain("two parts were expected");
        made.execute = packs ? (words ? pack_two_words : pack_two_halves)
                             : (words ? unpack_two_words : unpack_two_halves);
        const Cell whole = words ? Cell::wide : Cell::narrow;
        for (std::size_t i = 0; i < 2; ++i) {
            if (packs) {
                made.from[i] = source(parts[i], Cell::narrow);
            } else {
                made.to[i] = target_slot(parts[i]);
            }
        }
        if (packs) {
            made.to[0] = register_slot(to);
        } else {
            made.from[0] = source(from, whole);
        }
        return made;
    }

    /// cvta: the generic address of global memory equals its global address; the generic address of shared
    /// memory is its shared address plus kSharedWindow.
    Instruction converted_address() {
        const bool shared = has("shared");
        const bool to = has("to");
        if (!shared) {
            return of_arithmetic(*arithmetic_of(std::vector<std::string>{"mov", "u64"}), 0);
        }
        Instruction made =
            of_arithmetic(*arithmetic_of(std::vector<std::string>{to ? "sub" : "add", "u64"}), 2);
        made.from[0] = source(operand(1), Cell::wide);
        made.from[1] = constant(kSharedWindow, Cell::wide);
        return made;
    }

    /// Reads the mask of the lanes that take part in an exchange; in most kernels it is a constant.
    void take_members(Instruction& instruction, std::string_view text) {
        if (const auto value = number(text)) {
            instruction.named = static_cast<std::uint32_t>(*value);
        } else {
            instruction.members = source(text, Cell::narrow);
        }
    }

    Instruction branch() {
        Instruction made;
        made.kind = Kind::branch;
        const auto found = text_.labels.find(operand(0));
        if (found == text_.labels.end()) complain("the label is not defined");
        made.target = static_cast<std::int32_t>(found->second);
        return made;
    }
    Instruction barrier() {
        Instruction made;
        if (has("warp")) {
            made.kind = Kind::warp_barrier;
            take_members(made, operand(0));
            return made;
        }
        if (statement_->operands.size() != 1 || operand(0) != "0")
            complain("only barrier 0 of all threads is supported");
        made.kind = Kind::block_barrier;
        return made;
    }

    Instruction exchanged_value() {
        static const std::map<std::string_view, Shuffle> kinds{{"up", Shuffle::up},
                                                               {"down", Shuffle::down},
                                                               {"bfly", Shuffle::butterfly},
                                                               {"idx", Shuffle::index}};
        const auto kind = kinds.find(part(2));
        if (part(1) != "sync" || kind == kinds.end()) complain("an instruction that is not known");
        Instruction made;
        made.kind = Kind::exchange;
        made.execute = shuffle(kind->second);
        const std::string& to = operand(0);
        const std::size_t bar = to.find('|');
        made.to[0] = register_slot(to.substr(0, bar));
        if (bar != std::string::npos) made.to[1] = target_slot(to.substr(bar + 1));
        for (std::size_t i = 0; i < 3; ++i) made.from[i] = source(operand(i + 1), Cell::narrow);
        take_members(made, operand(4));
        return made;
    }
    Instruction voted() {
        Instruction made;
        made.kind = Kind::exchange;
        made.execute = vote(part(2));
        if (part(1) != "sync" || made.execute == nullptr) complain("an instruction that is not known");
        made.to[0] = register_slot(operand(0));
        made.from[0] = source(operand(1), Cell::predicate);
        take_members(made, operand(2));
        return made;
    }
    Instruction multiplied() {
        const bool bf16 = has("bf16");
        if (!has("m16n8k16") || (!bf16 && !has("f16")) || part(statement_->mnemonic.size() - 1) != "f32")
            complain("a matrix product that is not known");
        Instruction made;
        made.kind = Kind::exchange;
        made.execute = matrix_multiply(bf16, module_.capability);
        const std::vector<std::string> results = parts_of(operand(0));
        if (results.size() != 4) complain("four results were expected");
        for (std::size_t r = 0; r < 4; ++r) made.to[r] = register_slot(results[r]);
        std::size_t next = 0;
        for (std::size_t i = 1; i <= 3; ++i) {
            for (const std::string& name : parts_of(operand(i))) {
                if (next == 10) complain("too many registers");
                made.from[next++] = source(name, Cell::narrow);
            }
        }
        if (next != 10) complain("too few registers");
        made.multiplies = true;
        made.whole_warp = true;
        return made;
    }
    Instruction loaded_matrices() {
        if (!has("m8n8") || !has("b16")) complain("an instruction that is not known");
        Instruction made;
        made.kind = Kind::load_matrices;
        made.whole_warp = true;
        made.space = space();
        made.parts = has("x4") ? 4 : has("x2") ? 2 : 1;
        made.transposed = has("trans");
        const std::vector<std::string> registers = parts_of(operand(0));
        if (registers.size() != made.parts) complain("as many registers as matrices were expected");
        for (std::size_t i = 0; i < registers.size(); ++i) made.to[i] = register_slot(registers[i]);
        take_address(made, operand(1));
        return made;
    }
    Instruction copied() {
        Instruction made;
        if (part(1) != "async" || has("bulk")) complain("an instruction that is not known");
        if (has("commit_group")) {
            made.kind = Kind::commit_copies;
            return made;
        }
        if (has("wait_group") || has("wait_all")) {
            made.kind = Kind::wait_for_copies;
            made.open_copies = has("wait_all");
            if (has("wait_group")) {
                const auto pending = number(operand(0));
                if (!pending) complain("a number of groups was expected");
                made.displacement = static_cast<std::int64_t>(*pending);
            }
            return made;
        }
        made.kind = Kind::copy_async;
        made.past_l1 = has("cg");
        take_address(made, operand(0));
        const bool wide_shared = made.wide;
        const std::int64_t displacement = made.displacement;
        if (displacement != 0) complain("a displacement of the shared address is not supported");
        made.displacement = 0;
        const Slot shared = made.from[0];
        take_address(made, operand(1));
        if (!made.wide || wide_shared)
            complain("the shared address must have 32 bits and the global address 64");
        made.from[1] = shared;
        made.bytes = static_cast<std::uint8_t>(number(operand(2)).value_or(0));
        if (made.bytes != 4 && made.bytes != 8 && made.bytes != 16)
            complain("4, 8 or 16 bytes were expected");
        // The operands are "[to], [from], bytes{, bytes that are read}{, cache policy}".
        const std::size_t read_at_most = statement_->operands.size() - (has("L2::cache_hint") ? 1 : 0);
        made.from[2] =
            read_at_most > 3 ? source(operand(3), Cell::narrow) : constant(made.bytes, Cell::narrow);
        return made;
    }
    Instruction atomic(bool reduction) {
        static const std::map<std::string_view, Atomic> kinds{
            {"add", Atomic::add}, {"and", Atomic::and_}, {"or", Atomic::or_},       {"xor", Atomic::xor_},
            {"min", Atomic::min}, {"max", Atomic::max},  {"exch", Atomic::exchange}};
        Instruction made;
        made.kind = Kind::atomic;
        made.space = space();
        const std::string& type = statement_->mnemonic.back();
        made.bytes = bytes_of_type(type).value_or(0);
        made.is_signed = type.starts_with('s');
        const auto kind = std::find_if(statement_->mnemonic.begin(), statement_->mnemonic.end(),
                                       [&](const std::string& name) { return kinds.contains(name); });
        if (kind == statement_->mnemonic.end() || made.bytes < 4)
            complain("an instruction that is not known");
        made.atomic = kinds.at(*kind);
        if (type == "f32") {
            if (made.atomic != Atomic::add) complain("an instruction that is not known");
            made.atomic = Atomic::add_float;
        } else if (type.starts_with('f')) {
            complain("an instruction that is not known");
        }
        const std::size_t address = reduction ? 0 : 1;
        if (!reduction) made.to[0] = target_slot(operand(0));
        take_address(made, operand(address));
        made.from[1] = source(operand(address + 1), made.bytes == 8 ? Cell::wide : Cell::narrow);
        return made;
    }

    const ModuleText& module_;
    const KernelText& text_;
    const Statement* statement_ = nullptr;
    Kernel kernel_;
    std::map<std::string, std::uint64_t, std::less<>> symbols_;
    std::map<std::string, Slot, std::less<>> slots_;
    std::map<std::pair<Cell, std::uint64_t>, Slot> constants_;
};

}  // namespace

Kernel assembled(const ModuleText& module, const KernelText& text) {
    return Assembler(module, text).assembled();
}

}  // namespace paretoken::virtual_gpu
