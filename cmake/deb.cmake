# The .deb: `cpack -G DEB` in a release build. Its dependencies are found by dpkg-shlibdeps, never written by hand.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME joulery)
set(CPACK_PACKAGE_VENDOR "The Joulery authors")
set(CPACK_PACKAGE_CONTACT "The Joulery authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "energy of AI work, from the wall to the training step")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Joulery runs a command and tells what it used: joules by component, by phase
and by training step, with how each figure is known, carbon and cost. It holds
the command, the agent that watches a node with its unit for systemd, the library
and headers to mark steps from C and C++, and the Python package.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3 (>= 3.9), libcurl4, libssl3, libbpf1")  # loaded at run time: meters over a network, a proxy before https, eBPF
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
