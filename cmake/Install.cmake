# What `cmake --install` writes, below any prefix. The programs find each other by relative paths, so that the prefix can be
# moved. In a Python wheel, pip puts both programs into the directory of scripts.

paretoken_notices(${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES)

if(SKBUILD)
    set(paretoken_bin ${SKBUILD_SCRIPTS_DIR})
    set(paretoken_libexec ${SKBUILD_SCRIPTS_DIR})
    set(paretoken_data ${SKBUILD_DATA_DIR}/share)
else()
    set(paretoken_bin ${CMAKE_INSTALL_BINDIR})
    set(paretoken_libexec ${CMAKE_INSTALL_LIBEXECDIR}/paretoken)
    set(paretoken_data ${CMAKE_INSTALL_DATAROOTDIR})
endif()

install(TARGETS paretoken RUNTIME DESTINATION ${paretoken_bin})
install(TARGETS paretoken-microbench RUNTIME DESTINATION ${paretoken_libexec})
if(TARGET paretoken-mpi)
    install(TARGETS paretoken-mpi LIBRARY DESTINATION ${paretoken_libexec})
endif()
install(DIRECTORY cards/models cards/gpus cards/prices DESTINATION ${paretoken_data}/paretoken/cards
        FILES_MATCHING PATTERN "*.json")
install(FILES reports/schema.json DESTINATION ${paretoken_data}/paretoken)
install(FILES LICENSE CHANGELOG.md ${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES DESTINATION ${paretoken_data}/doc/paretoken)

# The manual page and the completions of shells, as the program itself prints them.
function(install_printed topic file directory)
    set(written ${CMAKE_BINARY_DIR}/printed/${file})
    install(CODE "file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/printed\")
                  execute_process(COMMAND \"$<TARGET_FILE:paretoken>\" help ${topic} OUTPUT_FILE \"${written}\"
                                  COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${written} DESTINATION ${paretoken_data}/${directory})
endfunction()
install_printed("man" paretoken.1 man/man1)
install_printed("completion bash" paretoken bash-completion/completions)
install_printed("completion zsh" _paretoken zsh/site-functions)
install_printed("completion fish" paretoken.fish fish/vendor_completions.d)
