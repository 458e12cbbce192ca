#!/bin/bash
# Kills training (SIGKILL) again and again, at random moments and before random calls that change
# files, resumes it, and compares all that it leaves with a run that was left alone:
# tests/crash_test.cpp.
#
#   tests/kill_training.sh BUILD_FOLDER [KILLS]        e.g. tests/kill_training.sh build/dev 100
#
# The runs are under TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?the folder of a build}
library=$(mktemp --suffix=.so)
trap 'rm -f "$library"' EXIT
"${CXX:-c++}" -std=c++17 -O1 -shared -fPIC -o "$library" tests/kill_point.cpp -ldl
SIMILE_KILL_LIBRARY=$library SIMILE_KILLS=${2:-100} "$build"/tests/simile_crash_test --gtest_brief=1 \
    --gtest_filter='CrashTest.Killed*'
