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
install(DIRECTORY cards/models cards/gpus cards/prices DESTINATION ${paretoken_data}/paretoken/cards
        FILES_MATCHING PATTERN "*.json")
install(FILES reports/schema.json DESTINATION ${paretoken_data}/paretoken)
install(FILES LICENSE CHANGELOG.md ${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES DESTINATION ${paretoken_data}/doc/paretoken)
