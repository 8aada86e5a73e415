#!/bin/sh
# Packs a static program as an RPM package: rpm.sh PROGRAM VERSION OUT ARCH PRINTER. `make dist` calls it. ARCH is the kind of
# processor as in `uname -m`, PRINTER a program of this host's kind that prints the manual.
set -eu
cd "$(dirname "$0")/.."
program=$1 version=$2 out=$3 arch=$4 printer=$5
command -v rpmbuild >/dev/null || { echo "rpmbuild is missing: apt install rpm, or dnf install rpm-build" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
make --no-print-directory --silent install-files PROGRAM="$program" PRINTER="$printer" PREFIX=/usr DESTDIR="$tree"
install -d -m 755 "$tree/etc/electd"
if [ -n "${LICENSES:-}" ]; then install -m 644 "$LICENSES" "$tree/usr/share/doc/electd/LICENSES.txt"; fi
gzip -9n "$tree"/usr/share/man/man?/*
rpmbuild -bb --quiet --target "$arch-linux" --define "version $version" --define "tree $tree" --define "_topdir $work" \
    --define "_binary_payload w19.zstdio" packaging/electd.spec
mkdir -p "$out"
cp "$work"/RPMS/"$arch"/*.rpm "$out/"
echo "$out/electd-$version-1.$arch.rpm"
