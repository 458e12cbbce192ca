#!/usr/bin/env bash
# Builds dist/simile-VERSION-linux-x86_64.tar.gz, without training: unpack it anywhere, ~/.local say, and run bin/simile.
# It holds the program, its models, completions and manual page, the documents, the shared libraries but for those of glibc and gcc,
# and the licences of all. Needs what scripts/install-deps.sh --serving and --wheel install.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/tarball
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMILE_TRAINING=OFF -DSIMILE_TESTS=OFF >&2
cmake --build $build -j "${SIMILE_JOBS:-$(nproc)}" --target simile simile_pages >&2
name=simile-$($build/cli/simile --version | awk 'NR == 1 { print $2 }')-linux-$(uname -m)
root=$build/$name
rm -rf "$root"
cmake --install $build --prefix "$root" --component runtime --strip >&2
rm -rf "$root/lib/systemd"
cp -r docs LICENSE README.md CHANGELOG.md "$root/share/doc/simile/"

mkdir -p "$root/lib/simile"
ldd "$root/bin/simile" | awk '$2 == "=>" { print $3 }' | while read -r library; do
  case "$(basename "$library")" in lib[cm].so* | ld-linux* | libgcc_s* | libstdc++* | libresolv* | libpthread* | libdl*) continue ;; esac
  cp -L "$library" "$root/lib/simile/"
  patchelf --set-rpath '$ORIGIN' "$root/lib/simile/$(basename "$library")"
done
scripts/copy-licences.sh "$root/share/doc/simile/licences" "$root"/lib/simile/*
patchelf --set-rpath '$ORIGIN/../lib/simile' "$root/bin/simile"

mkdir -p dist
tar -C $build --owner=0 --group=0 --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -czf "dist/$name.tar.gz" "$name"
ls -l "$PWD/dist/$name.tar.gz"
