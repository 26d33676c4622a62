# paretoken_folder(NAME [PRECOMPILED kind] [COLD | SMALL] [APART] links…) makes one static library of every .cpp below NAME/ except
#   main.cpp. With COLD, release builds compile it with -O1, because the time to compile it matters more than its speed, and
#   portable builds with -Os, because their size matters (SMALL: the latter alone). With APART, each source is compiled alone even
#   with PARETOKEN_UNITY=ON.
# paretoken_tests(NAMES…) makes one test program per folder of every *_test.cpp below tests/NAME/.

set(paretoken_warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND paretoken_warnings -Wno-restrict)  # false alarms on std::string + const char* (GCC bug 105651)
endif()
if(PARETOKEN_WERROR)
    list(APPEND paretoken_warnings -Werror)
endif()

add_library(paretoken_options INTERFACE)
target_include_directories(paretoken_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(paretoken_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${paretoken_warnings}>")
# The program reads bytes of servers and files that are not trusted. Every build checks the indices of containers and spans;
# builds without sanitizers also check the stack and calls of the C library. A build with PARETOKEN_HARDEN=OFF shows what the
# checks cost.
option(PARETOKEN_HARDEN "Check container indices, stack and calls of the C library at run time" ON)
if(PARETOKEN_HARDEN)
    target_compile_options(paretoken_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>)
    if(NOT PARETOKEN_SANITIZE)
        target_compile_options(paretoken_options INTERFACE
            "$<$<COMPILE_LANGUAGE:CXX>:-fPIE;-fstack-protector-strong>"
            "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
        target_link_options(paretoken_options INTERFACE $<$<LINK_LANGUAGE:CXX>:-pie> -Wl,-z,relro,-z,now)
    endif()
endif()
if(PARETOKEN_SANITIZE)
    target_compile_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    if(PARETOKEN_SANITIZE MATCHES "undefined")
        # These checks take a third of the compiling time. AddressSanitizer ends a program at a null pointer or an access
        # outside of an object in any case; vptr finds casts to a wrong class, and the code has no such casts.
        target_compile_options(paretoken_options INTERFACE
                               -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute,object-size,vptr)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # This check takes a ninth of the compiling time and a third of the object files. The build of the fuzz targets
            # with clang has it.
            target_compile_options(paretoken_options INTERFACE -fno-sanitize=alignment)
        endif()
    endif()
    if(PARETOKEN_SANITIZE MATCHES "address")
        # A program at a fixed address starts in half the time. Each of 2,000 tests starts one.
        target_compile_options(paretoken_options INTERFACE -fno-pie)
        target_link_options(paretoken_options INTERFACE -no-pie)
    endif()
    target_link_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Instrumented optionals look uninitialised to it; builds without sanitizers still warn.
        target_compile_options(paretoken_options INTERFACE -Wno-maybe-uninitialized)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PARETOKEN_SANITIZE MATCHES "thread")
        target_compile_options(paretoken_options INTERFACE -Wno-tsan)  # Asio's fences: seen, and not understood
    endif()
endif()

# Sources that are compiled together share the headers that they include and the templates that they instantiate. In exchange,
# a changed source compiles its whole group again, and names in anonymous namespaces must differ within a directory.
set(PARETOKEN_UNITY OFF CACHE STRING
    "Compile the sources of a directory several at a time, for builds from nothing: OFF, ON (not in APART folders) or ALL")

# Sources below these paths are always compiled alone: kernels and protocols define functions of the same names, and two system
# headers of sockets exclude each other.
set(paretoken_alone microbench/ loadgen/protocol/ loadgen/http/tcp_facts tests/microbench/gpu/)

# Puts the sources of a target into groups of up to 8 of one directory, each of which is compiled as one file.
function(paretoken_compile_in_groups target apart)
    if(NOT PARETOKEN_UNITY OR (apart AND NOT PARETOKEN_UNITY STREQUAL "ALL"))
        return()
    endif()
    list(JOIN paretoken_alone "|" alone)
    list(FILTER ARGN EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/(${alone})")
    foreach(source IN LISTS ARGN)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE directory)
        cmake_path(GET directory PARENT_PATH directory)
        string(MAKE_C_IDENTIFIER "${directory}" directory)
        math(EXPR count_${directory} "0${count_${directory}} + 1")
        math(EXPR group "${count_${directory}} / 8")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${directory}_${group})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # This warning is about anonymous namespaces in headers; a source in a group looks like a header to the compiler.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

function(paretoken_folder name)
    cmake_parse_arguments(PARSE_ARGV 1 folder "COLD;SMALL;APART" "PRECOMPILED" "")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    add_library(${name} STATIC ${sources})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME paretoken_${name})
    target_link_libraries(${name} PUBLIC paretoken_options ${folder_UNPARSED_ARGUMENTS})
    if(NOT folder_PRECOMPILED)
        set(folder_PRECOMPILED std)
    endif()
    paretoken_precompiled(${name} ${folder_PRECOMPILED})
    if(PARETOKEN_PORTABLE AND (folder_COLD OR folder_SMALL))
        target_compile_options(${name} PRIVATE -Os)
        set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # they are compiled without -Os
    elseif(folder_COLD)
        target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    paretoken_compile_in_groups(${name} ${folder_APART} ${sources})
endfunction()

# Makes the library test_paths, which tells tests and benchmarks the paths of the sources and of the build (tests/support/paths.h).
function(paretoken_test_paths)
    if(TARGET test_paths)
        return()
    endif()
    add_library(test_paths STATIC ${CMAKE_SOURCE_DIR}/tests/support/paths.cpp)
    target_link_libraries(test_paths PUBLIC paretoken_options)
    target_compile_definitions(test_paths PRIVATE
        PARETOKEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PARETOKEN_BINARY_DIR="${CMAKE_BINARY_DIR}")
endfunction()

# Keeps those test files of a list that start threads or use code that starts them, because the other tests find nothing more
# under ThreadSanitizer.
function(paretoken_keep_threaded list)
    set(kept)
    foreach(source IN LISTS ${list})
        file(STRINGS ${source} mentions LIMIT_COUNT 1
             REGEX "std::j?thread|std::async|support/(scripted_server|simulated_load)\\.h|\"(loadgen/run|loadgen/power/sampler|simulator/server)\\.h")
        if(mentions)
            list(APPEND kept ${source})
        endif()
    endforeach()
    set(${list} ${kept} PARENT_SCOPE)
endfunction()

# Makes the test program NAME_test from the given sources. It tests the library LIBRARY.
function(paretoken_test_program name library)
    include(GoogleTest)
    paretoken_test_paths()
    add_executable(${name}_test ${ARGN})
    target_link_libraries(${name}_test PRIVATE ${library} test_paths GTest::gmock_main nlohmann_json::nlohmann_json)
    paretoken_precompiled(${name}_test test)
    paretoken_compile_in_groups(${name}_test OFF ${ARGN})
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}/ PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()

# Tests that run the code of GPU kernels lane by lane on the CPU, which takes a minute. They are a program of their own,
# gpu_kernels_test, which is built on request only: `scripts/test` asks for it where that code has changed.
set(paretoken_gpu_kernel_sources "/microbench/gpu/(attention/attention(_prefill)?|layer/(experts|layer)|mla/mla)_test\\.cpp$")
function(paretoken_gpu_kernels_test)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/microbench/gpu/*_test.cpp)
    list(FILTER sources INCLUDE REGEX "${paretoken_gpu_kernel_sources}")
    paretoken_test_program(gpu_kernels microbench ${sources})
    set_target_properties(gpu_kernels_test PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

function(paretoken_tests)
    foreach(name IN LISTS ARGN)
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${name}/*_test.cpp)
        list(FILTER sources EXCLUDE REGEX "${paretoken_gpu_kernel_sources}")  # of gpu_kernels_test
        if(PARETOKEN_SANITIZE MATCHES "thread")
            paretoken_keep_threaded(sources)
        endif()
        if(sources)
            paretoken_test_program(${name} ${name} ${sources})
        endif()
    endforeach()
endfunction()
