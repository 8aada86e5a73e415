#!/bin/sh
# Makes target/dist, a folder to upload: static programs for two kinds of processor, packages, an image, the bill of
# materials, the licences, and the sums of all. dist.sh VERSION [OUT]. `make dist` calls it; X86_64 and AARCH64 name programs
# that are built already. Two runs of one commit give the same bytes.
set -eu
cd "$(dirname "$0")/.."
version=$1 out=${2:-target/dist}
# The time of the commit is the time in everything that carries one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
for tool in python3 dpkg-deb rpmbuild gzip sha256sum; do
    command -v $tool >/dev/null || { echo "$tool is missing: apt install python3 dpkg rpm gzip coreutils" >&2; exit 1; }
done
# What is missing for the second program shows before the first has taken its time.
[ -n "${X86_64:-}" ] || sh packaging/static.sh x86_64-unknown-linux-musl --check
[ -n "${AARCH64:-}" ] || sh packaging/static.sh aarch64-unknown-linux-musl --check
if [ -z "${DEBEMAIL:-}" ]; then echo "note: DEBFULLNAME and DEBEMAIL name the maintainer of the Debian packages" >&2; fi
rm -rf "$out"
mkdir -p "$out"

x86_64=$out/electd-$version-x86_64-linux aarch64=$out/electd-$version-aarch64-linux
if [ -n "${X86_64:-}" ]; then cp "$X86_64" "$x86_64"; else sh packaging/static.sh x86_64-unknown-linux-musl "$x86_64"; fi
if [ -n "${AARCH64:-}" ]; then cp "$AARCH64" "$aarch64"; else sh packaging/static.sh aarch64-unknown-linux-musl "$aarch64"; fi
case $(uname -m) in x86_64) printer=$x86_64 ;; *) printer=$aarch64 ;; esac

python3 packaging/bill.py "$version" "$out/electd-$version.cdx.json" "$out/LICENSES.txt"
export LICENSES=$out/LICENSES.txt
sh packaging/deb.sh "$x86_64" "$version" "$out" amd64 "$printer"
sh packaging/deb.sh "$aarch64" "$version" "$out" arm64 "$printer"
sh packaging/rpm.sh "$x86_64" "$version" "$out" x86_64 "$printer"
sh packaging/rpm.sh "$aarch64" "$version" "$out" aarch64 "$printer"
python3 packaging/image.py "$version" "$out/electd-$version-image.tar" "LICENSE,NOTICE,$LICENSES" \
    x86_64="$x86_64" aarch64="$aarch64"
cd "$out"
sha256sum -- * > SHA256SUMS
ls -l
