#!/bin/bash
# Kills the writer of an index (SIGKILL) in the midst of adds, updates, deletes and merges, again and
# again, and verifies everything after each: simile/index/index_crash_test.cpp.
#
#   tests/kill_index.sh BUILD_FOLDER [KILLS]        e.g. tests/kill_index.sh build/dev 200
#
# The index is under TMPDIR: on the disk, unless that is a file system in memory.
set -euo pipefail
cd "$(dirname "$0")/.."
SIMILE_KILLS=${2:-200} exec "${1:?the folder of a build}"/simile/index/simile_index_test \
    --gtest_filter='*CrashSlow.*' --gtest_brief=1
