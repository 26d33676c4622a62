#pragma once
// Several functions as one, for std::visit: std::visit(Overloaded{[](A) {…}, [](B) {…}}, variant).

namespace paretoken {

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 needs it

}  // namespace paretoken
