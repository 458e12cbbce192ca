#!/usr/bin/env bash
# Fetches the web page's libraries from npm again, in the versions named here, into simile/serve/web/vendor, where they
# are committed with their licences: a build and the page download nothing. CMake rejects files that SHA256SUMS beside
# them does not list. For another version change its number here, in the page and in SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/../simile/serve/web/vendor"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package version, then pairs: file of the package, name here
fetch() {
  local package=$1 version=$2
  shift 2
  (cd "$work" && npm pack --silent "$package@$version" >/dev/null && mkdir "$package" &&
    tar -xzf "$package-$version.tgz" -C "$package" --strip-components=1)
  while [ $# -gt 0 ]; do
    install -m 644 "$work/$package/$1" "$2"
    shift 2
  done
}

fetch umap-js 1.4.0 lib/umap-js.min.js umap-js-1.4.0.min.js LICENSE umap-js.LICENSE
sha256sum --check SHA256SUMS
