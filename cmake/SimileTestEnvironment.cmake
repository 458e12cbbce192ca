# Read by ctest before it runs tests: what they all run with, unless the environment says otherwise.

# As many threads on every machine, which do not spin while they wait for one another.
if(NOT DEFINED ENV{OMP_NUM_THREADS})
  set(ENV{OMP_NUM_THREADS} 2)
endif()
if(NOT DEFINED ENV{OMP_WAIT_POLICY})
  set(ENV{OMP_WAIT_POLICY} passive)
endif()

# Files in memory, where there is room: runs wait for the disk at each of their steps.
if(NOT DEFINED ENV{TMPDIR})
  execute_process(COMMAND df --output=avail --block-size=1M /dev/shm OUTPUT_VARIABLE megabytes ERROR_QUIET)
  if(megabytes MATCHES "([0-9]+)\n$" AND CMAKE_MATCH_1 GREATER 2000)
    set(ENV{TMPDIR} /dev/shm)
  endif()
endif()
