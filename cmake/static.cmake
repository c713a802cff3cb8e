# JOULERY_STATIC: programs and modules that need glibc alone, for packages that must run on other distributions.
# Debian has no static libfmt, so its header-only form is used; sqlite3, zstd and the compiler's libraries are archives.
# Linked by ld: mold 1.10 keeps an import (arc4random of glibc 2.36) whose only user --gc-sections removed.
# joulery_self_contained(TARGET) after its target_link_libraries; does nothing where JOULERY_STATIC is off.
if(JOULERY_STATIC)
  add_compile_definitions(FMT_HEADER_ONLY)
  add_compile_options(-ffunction-sections -fdata-sections)

  function(joulery_archive target name)
    find_library(JOULERY_ARCHIVE_${name} NAMES lib${name}.a REQUIRED)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${JOULERY_ARCHIVE_${name}};m;dl;pthread")
  endfunction()
  joulery_archive(PkgConfig::SQLITE sqlite3)
  joulery_archive(PkgConfig::ZSTD zstd)

  add_library(joulery_dl_find_object OBJECT cmake/compat/dl_find_object.c)
endif()

function(joulery_self_contained target)
  if(JOULERY_STATIC)
    target_link_libraries(${target} PRIVATE joulery_dl_find_object)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -fuse-ld=bfd -Wl,--gc-sections -Wl,--as-needed -Wl,--exclude-libs,ALL)
  endif()
endfunction()
