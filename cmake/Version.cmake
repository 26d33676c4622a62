# paretoken_version(TARGET): gives TARGET the text of core/version.h, with the commit looked up at every build.

function(paretoken_version target)
    set(output ${CMAKE_BINARY_DIR}/generated/version.cpp)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBEXECDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE libexec)
    add_custom_target(paretoken_commit BYPRODUCTS ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR}
                -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -DLIBEXEC=${libexec}
                -P ${CMAKE_SOURCE_DIR}/cmake/write_version.cmake
        COMMENT "Looking up the commit")
    add_dependencies(${target} paretoken_commit)
    target_sources(${target} PRIVATE ${output})
endfunction()
