# paretoken_precompiled(TARGET KIND) gives TARGET's sources a precompiled header with the headers that nearly all of them
# include. KIND is `std` (standard library and fmt), `cli` (these and CLI11) or `test` (these, GoogleTest and nlohmann). A kind
# is compiled once per build and shared by its targets.
# A source must still include all that it uses. With -DPARETOKEN_PCH=OFF nothing is precompiled, and `scripts/test --checks`
# compiles changed files in this way. ccache needs CCACHE_SLOPPINESS=pch_defines,time_macros, which scripts/test sets.

option(PARETOKEN_PCH "Precompile the headers that most files include" ON)

set(paretoken_headers_std
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream>
    <functional> <limits> <map> <memory> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread>
    <unordered_map> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
set(paretoken_headers_test ${paretoken_headers_std} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
set(paretoken_headers_cli ${paretoken_headers_std} <CLI/App.hpp> <CLI/Config.hpp> <CLI/Formatter.hpp>)
set(paretoken_libraries_test nlohmann_json::nlohmann_json GTest::gmock)
set(paretoken_libraries_cli CLI11::CLI11)

function(paretoken_precompiled target kind)
    if(NOT PARETOKEN_PCH)
        return()
    endif()
    set(owner paretoken_pch_${kind})
    if(NOT TARGET ${owner})
        file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${owner}.cpp CONTENT "// Only its precompiled header is of use.\n")
        add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/generated/${owner}.cpp)
        target_link_libraries(${owner} PRIVATE paretoken_options paretoken_fmt Threads::Threads ${paretoken_libraries_${kind}})
        target_precompile_headers(${owner} PRIVATE ${paretoken_headers_${kind}})
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${owner} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
        elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
            target_compile_options(${owner} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # for ccache, too
        endif()
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache asks for it
    endif()
endfunction()
