#!/usr/bin/env bash
# Installs everything Simile builds and runs with on Debian 12, as root or with sudo. Needs only apt.
#   --serving   leave out libtorch (for builds with -DSIMILE_TRAINING=OFF)
#   --checks    the other needs of .ci/run, and the shells that completions are tested with
#   --wheel     what scripts/build-wheel.sh and scripts/build-tarball.sh need beside that of --serving
#   --fuzz      what scripts/fuzz.sh needs beside that of --serving
#   --packaging what scripts/test-deb.sh needs beside that of --serving
set -euo pipefail

packages=(
  cmake g++ ninja-build ccache git pkg-config ca-certificates dpkg-dev file
  libxxhash-dev libicu-dev libstemmer-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev
  libsqlite3-dev libboost-dev libcpp-httplib-dev libssl-dev libcurl4-openssl-dev zlib1g-dev libzstd-dev libfmt-dev
  libeigen3-dev libhnswlib-dev libgtest-dev libgmock-dev libdnnl-dev
)
case "${1:-}" in --serving | --packaging | --wheel | --fuzz) ;; *) packages+=(libtorch-dev libgloo-dev) ;; esac
if [ "${1:-}" = "--packaging" ]; then packages+=(debootstrap curl systemd-container); fi
if [ "${1:-}" = "--wheel" ]; then packages+=(python3-dev python3-venv patchelf); fi
if [ "${1:-}" = "--fuzz" ]; then packages+=(clang libclang-rt-14-dev libomp-14-dev); fi
if [ "${1:-}" = "--checks" ]; then packages+=(clang-format clang-tidy libomp-14-dev zsh fish man-db codespell mkdocs); fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -eq 0 ]; then run=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then run=(sudo env DEBIAN_FRONTEND=noninteractive)
else
  echo "These packages are missing and installing them needs root or sudo: ${missing[*]}" >&2
  exit 1
fi
echo "Installing: ${missing[*]}" >&2
"${run[@]}" apt-get update -qq
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
