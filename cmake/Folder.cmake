# paretoken_folder(NAME links…): one static library of every .cpp below NAME/ (main.cpp is left to its executable).
# paretoken_tests(NAMES…): one test program per folder, of every *_test.cpp below tests/NAME/.

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
if(PARETOKEN_SANITIZE)
    target_compile_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Instrumented optionals look uninitialised to it; builds without sanitizers still warn.
        target_compile_options(paretoken_options INTERFACE -Wno-maybe-uninitialized)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PARETOKEN_SANITIZE MATCHES "thread")
        target_compile_options(paretoken_options INTERFACE -Wno-tsan)  # Asio's fences: seen, and not understood
    endif()
endif()

function(paretoken_folder name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$|/virtual_gpu/runtime/")  # VirtualGpu.cmake's
    add_library(${name} STATIC ${sources})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME paretoken_${name})
    target_link_libraries(${name} PUBLIC paretoken_options ${ARGN})
endfunction()

function(paretoken_tests)
    include(GoogleTest)
    foreach(name IN LISTS ARGN)
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${name}/*_test.cpp)
        list(FILTER sources EXCLUDE REGEX "/virtual_gpu/runtime/")
        add_executable(${name}_test ${sources})
        target_link_libraries(${name}_test PRIVATE ${name} GTest::gmock_main nlohmann_json::nlohmann_json)
        target_compile_definitions(${name}_test PRIVATE
            PARETOKEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PARETOKEN_BINARY_DIR="${CMAKE_BINARY_DIR}")
        gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}/ PROPERTIES TIMEOUT 300 LABELS unit)
    endforeach()
endfunction()
