# paretoken_fuzz(): one program <target>_fuzz per tests/fuzz/<target>_fuzz.cpp, with clang's libFuzzer (preset `fuzz`). It has a
#   library of its own that holds only the sources that are fuzzed, so that `scripts/fuzz` builds in little time. Beast is
#   compiled from its headers here.
# paretoken_fuzz_replays(): one test fuzz/<target> per target, which runs its stored inputs (tests/fuzz/corpus/<target>).

option(PARETOKEN_FUZZ "Build the fuzz targets of tests/fuzz (clang only)" OFF)

function(paretoken_fuzz)
    if(NOT PARETOKEN_FUZZ)
        return()
    endif()
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "PARETOKEN_FUZZ needs clang and its libFuzzer: cmake --preset fuzz")
    endif()
    set(folders core cards datasets loadgen/protocol reports/document reports/files reports/analysis)
    set(sources loadgen/load/arrival.cpp loadgen/http/body_framing.cpp loadgen/http/message.cpp loadgen/http/url.cpp
        loadgen/scrape/prometheus.cpp)
    foreach(folder IN LISTS folders)
        file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
        list(APPEND sources ${found})
    endforeach()
    add_library(fuzz_subjects STATIC ${sources})
    target_link_libraries(fuzz_subjects PUBLIC paretoken_options paretoken_fmt Threads::Threads Boost::headers
                          nlohmann_json::nlohmann_json simdjson::simdjson OpenSSL::Crypto paretoken_foreign)
    paretoken_precompiled(fuzz_subjects std)
    target_sources(fuzz_subjects PRIVATE ${CMAKE_BINARY_DIR}/generated/version.cpp
                   ${CMAKE_BINARY_DIR}/generated/cards_embedded.cpp)
    add_dependencies(fuzz_subjects paretoken_commit)
    file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
    foreach(source IN LISTS targets)
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source} tests/fuzz/entry.cpp)
        target_link_libraries(${name} PRIVATE fuzz_subjects)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        paretoken_precompiled(${name} std)
        list(APPEND names ${name})
    endforeach()
    add_custom_target(fuzz DEPENDS ${names})
endfunction()

function(paretoken_fuzz_replays)
    file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
    foreach(source IN LISTS targets)
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "_fuzz$" "" name ${name})
        add_executable(${name}_replay ${source} tests/fuzz/replay.cpp)
        target_link_libraries(${name}_replay PRIVATE loadgen reports nlohmann_json::nlohmann_json simdjson::simdjson)
        paretoken_precompiled(${name}_replay std)
        add_test(NAME fuzz/${name} COMMAND ${name}_replay ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
        set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 120 LABELS unit
                             ENVIRONMENT "ASAN_OPTIONS=max_allocation_size_mb=1024;UBSAN_OPTIONS=print_stacktrace=1")
    endforeach()
endfunction()
