# Files installed beside the program: the manual page and the completions, which the program prints
# itself, and the systemd unit. Also the Debian package of a build without training
# (scripts/build-deb.sh).
set(SIMILE_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions CACHE STRING "Where zsh looks for completions")
set(pages_folder ${PROJECT_BINARY_DIR}/packaging)
set(changes ${pages_folder}/changelog.gz ${pages_folder}/changelog.Debian.gz)
set(pages ${pages_folder}/simile.1.gz ${pages_folder}/simile.bash ${pages_folder}/_simile ${pages_folder}/simile.fish)
find_program(GZIP_PROGRAM gzip REQUIRED)
add_custom_command(
  OUTPUT ${pages} ${changes}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages_folder}
  COMMAND simile docs man | ${GZIP_PROGRAM} -9n > ${pages_folder}/simile.1.gz
  COMMAND simile docs completion --shell bash > ${pages_folder}/simile.bash
  COMMAND simile docs completion --shell zsh > ${pages_folder}/_simile
  COMMAND simile docs completion --shell fish > ${pages_folder}/simile.fish
  COMMAND ${GZIP_PROGRAM} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${pages_folder}/changelog.gz
  COMMAND ${GZIP_PROGRAM} -9nc ${pages_folder}/changelog.Debian > ${pages_folder}/changelog.Debian.gz
  DEPENDS simile ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  COMMENT "Manual page and completions" VERBATIM)
add_custom_target(simile_pages ALL DEPENDS ${pages} ${changes})
set(SIMILE_MAINTAINER "Simile maintainers <simile@localhost>" CACHE STRING "Who maintains the Debian package")
set(SIMILE_DEBIAN_RELEASE 1)
string(TIMESTAMP SIMILE_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where that is set
configure_file(packaging/changelog.Debian.in ${pages_folder}/changelog.Debian @ONLY)
configure_file(packaging/simile.service.in ${pages_folder}/simile.service @ONLY)

install(FILES ${pages_folder}/simile.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${pages_folder}/simile.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME simile
        COMPONENT runtime)
install(FILES ${pages_folder}/_simile DESTINATION ${SIMILE_ZSH_FOLDER} COMPONENT runtime)
install(FILES ${pages_folder}/simile.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
install(FILES ${pages_folder}/simile.service DESTINATION lib/systemd/system COMPONENT runtime)
install(FILES ${changes} packaging/simile.env packaging/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/simile
        COMPONENT runtime)

if(NOT SIMILE_TRAINING)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME simile)
  set(CPACK_PACKAGE_VENDOR Simile)
  set(CPACK_PACKAGE_CONTACT ${SIMILE_MAINTAINER})
  set(CPACK_DEBIAN_PACKAGE_RELEASE ${SIMILE_DEBIAN_RELEASE})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sentence encoders: vectors, semantic search, evaluation, serving")
  set(CPACK_PACKAGE_DESCRIPTION "Simile turns texts into vectors with transformer and static sentence encoders,
evaluates such models, searches with them and serves them over HTTP.
Models are read from the folder layout of sentence-transformers; some small
ones are included.
This build has no training and needs no torch.")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL runtime)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/postinst
                                         ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)
  include(CPack)
endif()
