# Boost for a cross build, in name only: the targets that are built there do not use it.
foreach(component ${Boost_FIND_COMPONENTS})
  if(NOT TARGET Boost::${component})
    add_library(Boost::${component} INTERFACE IMPORTED GLOBAL)
  endif()
  set(Boost_${component}_FOUND TRUE)
endforeach()
set(Boost_FOUND TRUE)
