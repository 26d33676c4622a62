# The virtual GPU runs the compiled kernels of microbench/gpu without a GPU. paretoken_virtual_gpu() adds
#   virtual_gpu_ptx               the PTX of the kernels, <build>/ptx/sm_80/*.ptx and <build>/ptx/sm_90/*.ptx
#   virtual_gpu_runtime           the functions of libcudart that the programs call (tests/virtual_gpu/runtime/)
#   paretoken-microbench-virtual  paretoken-microbench, linked with these in libcudart's place
# and the tests of all of these. They are built with -DPARETOKEN_VIRTUAL_GPU=ON (preset gpu), which needs nvcc. With tests
# but without that option, the library virtual_gpu, virtual_gpu_test and gpu_kernels_test (which runs the code of kernels on
# the CPU), all of which need no nvcc, are built on request only: `scripts/test --gpu` asks for them.

option(PARETOKEN_VIRTUAL_GPU "Build paretoken-microbench-virtual; needs nvcc" OFF)
set(paretoken_ptx_architectures 80 90)
set(paretoken_ptx_folder ${CMAKE_BINARY_DIR}/ptx)
set(paretoken_gpu_kernel_tests "/microbench/gpu/(attention/attention(_prefill)?|layer/(experts|layer)|mla/mla)_test\\.cpp$")

# paretoken_ptx(TARGET sources…): a target that keeps the PTX of .cu files.
function(paretoken_ptx target)
    set(outputs)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source STEM stem)
        foreach(architecture IN LISTS paretoken_ptx_architectures)
            set(output ${paretoken_ptx_folder}/sm_${architecture}/${stem}.ptx)
            add_custom_command(OUTPUT ${output} DEPENDS ${source} DEPFILE ${output}.d
                COMMAND ${CMAKE_COMMAND} -E make_directory ${paretoken_ptx_folder}/sm_${architecture}
                COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 --expt-relaxed-constexpr -lineinfo -I${CMAKE_SOURCE_DIR}
                        -DPARETOKEN_HAS_CUDA -DFMT_SHARED -DFMT_USE_CONSTEXPR=1 -forward-unknown-to-host-compiler
                        -MD -MT ${output} -MF ${output}.d -ptx -arch=compute_${architecture} ${source} -o ${output}
                COMMENT "Compiling ${stem}.cu to PTX for sm_${architecture}" VERBATIM)
            list(APPEND outputs ${output})
        endforeach()
    endforeach()
    add_custom_target(${target} DEPENDS ${outputs})
endfunction()

# Only files that define kernels, or instantiate those of a header, give PTX with entries; the others cost little.
function(paretoken_virtual_gpu)
    if(NOT PARETOKEN_TESTS)
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/virtual_gpu/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
    add_library(virtual_gpu STATIC ${sources})
    set_target_properties(virtual_gpu PROPERTIES OUTPUT_NAME paretoken_virtual_gpu)
    target_link_libraries(virtual_gpu PUBLIC paretoken_options core)
    if(NOT PARETOKEN_VIRTUAL_GPU)
        set_target_properties(virtual_gpu PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    if(NOT PARETOKEN_HAS_CUDA)
        message(FATAL_ERROR "PARETOKEN_VIRTUAL_GPU=ON needs the CUDA backend: add -DPARETOKEN_CUDA=ON")
    endif()
    # Without optimisation, the interpreter takes minutes instead of seconds.
    target_compile_options(virtual_gpu PRIVATE $<$<CONFIG:Debug>:-O2>)
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/microbench/gpu/*.cu)
    paretoken_ptx(virtual_gpu_ptx ${kernels})

    file(GLOB runtime CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/virtual_gpu/runtime/*.cpp)
    list(FILTER runtime EXCLUDE REGEX "_test\\.cpp$")
    add_library(virtual_gpu_runtime STATIC ${runtime})
    target_link_libraries(virtual_gpu_runtime PUBLIC virtual_gpu PRIVATE nlohmann_json::nlohmann_json)
    target_include_directories(virtual_gpu_runtime SYSTEM PUBLIC ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    target_compile_definitions(virtual_gpu_runtime PRIVATE PARETOKEN_PTX_DIRECTORY="${paretoken_ptx_folder}")

    add_executable(paretoken-microbench-virtual microbench/main.cpp)
    target_link_libraries(paretoken-microbench-virtual PRIVATE microbench virtual_gpu_runtime)
    set_target_properties(paretoken-microbench-virtual PROPERTIES CUDA_RUNTIME_LIBRARY None)
    add_dependencies(paretoken-microbench-virtual virtual_gpu_ptx)
endfunction()

function(paretoken_virtual_gpu_tests)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/microbench/gpu/*_test.cpp)
    list(FILTER sources INCLUDE REGEX "${paretoken_gpu_kernel_tests}")
    paretoken_test_program(gpu_kernels microbench ${sources})
    set_target_properties(gpu_kernels_test PROPERTIES EXCLUDE_FROM_ALL ON)
    if(NOT PARETOKEN_VIRTUAL_GPU)
        if(TARGET virtual_gpu_test)
            set_target_properties(virtual_gpu_test PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
        return()
    endif()
    find_package(Python3 COMPONENTS Interpreter REQUIRED)
    # Compares the registers and spills of the compiled kernels with a committed budget.
    add_test(NAME microbench/gpu_budget
             COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/microbench/gpu/budget_test.py)
    set_tests_properties(microbench/gpu_budget PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS unit)
    set(tests ${CMAKE_SOURCE_DIR}/tests/virtual_gpu/runtime)
    # A few rows are left out, because their fp64 references take minutes; verify_test.py without --filter runs all rows.
    set(rows_90 "ceiling|copy|mla" attention prefill/attention "layer/preset:(tiny[1-6]/|tiny_)"
        "weights/verify/op:((1|17|200)x|1016x2048/w:int4/batch:(1|8)/|65528x|4216x256/w:[^/]*/batch:1/)")
    set(rows_80 "ceiling|copy|mla" attention prefill/attention "layer/preset:(tiny[1-6]/|tiny_)"
        "weights/verify/op:(1|17|120|200)x")
    foreach(architecture IN LISTS paretoken_ptx_architectures)
        foreach(rows IN LISTS rows_${architecture})
            string(REGEX MATCH "^[a-z]+" family "${rows}")
            set(test microbench/virtual_gpu/sm_${architecture}/${family})
            set(multiprocessors 4)
            if(architecture EQUAL 90 AND family STREQUAL "weights")
                set(multiprocessors 132)  # as many shares as on an H100: of a few steps, or none
            endif()
            add_test(NAME ${test} COMMAND Python3::Interpreter ${tests}/verify_test.py --sm ${architecture}
                     --multiprocessors ${multiprocessors}
                     --bin ${CMAKE_BINARY_DIR}/paretoken-microbench-virtual --filter "^(${rows})")
            set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 LABELS unit)
        endforeach()
    endforeach()
    add_test(NAME microbench/virtual_gpu/timed
             COMMAND Python3::Interpreter ${tests}/timed_test.py
                     --bin ${CMAKE_BINARY_DIR}/paretoken-microbench-virtual)
    set_tests_properties(microbench/virtual_gpu/timed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS unit)
    add_test(NAME microbench/virtual_gpu/page
             COMMAND Python3::Interpreter ${tests}/page_test.py
                     --bin ${CMAKE_BINARY_DIR}/paretoken-microbench-virtual)
    set_tests_properties(microbench/virtual_gpu/page PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS unit)
    add_test(NAME virtual_gpu/canary
             COMMAND Python3::Interpreter ${tests}/canary_test.py --bin ${CMAKE_BINARY_DIR}/virtual_gpu_canary)
    set_tests_properties(virtual_gpu/canary PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS unit)
    paretoken_ptx(virtual_gpu_test_ptx ${tests}/test_kernels.cu ${CMAKE_SOURCE_DIR}/scripts/gpu/canary.cu)
    add_executable(virtual_gpu_canary ${CMAKE_SOURCE_DIR}/scripts/gpu/canary.cu)
    file(GLOB sources CONFIGURE_DEPENDS ${tests}/*_test.cpp)
    add_executable(virtual_gpu_runtime_test ${sources} ${tests}/test_kernels.cu)
    target_link_libraries(virtual_gpu_runtime_test PRIVATE GTest::gmock_main)
    target_compile_definitions(virtual_gpu_runtime_test PRIVATE PARETOKEN_PTX_DIRECTORY="${paretoken_ptx_folder}")
    foreach(program virtual_gpu_canary virtual_gpu_runtime_test)
        target_link_libraries(${program} PRIVATE virtual_gpu_runtime)
        set_target_properties(${program} PROPERTIES CUDA_RUNTIME_LIBRARY None)
        add_dependencies(${program} virtual_gpu_test_ptx)
    endforeach()
    gtest_discover_tests(virtual_gpu_runtime_test DISCOVERY_MODE PRE_TEST TEST_PREFIX virtual_gpu/runtime/
                         PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()
