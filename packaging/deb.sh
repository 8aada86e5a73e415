#!/bin/sh
# Packs a built program as a Debian package: deb.sh PROGRAM VERSION OUT. `make deb` calls it. DEBFULLNAME and DEBEMAIL
# name the maintainer.
set -eu
cd "$(dirname "$0")/.."
program=$1 version=$2 out=$3
command -v dpkg-deb >/dev/null || { echo "dpkg-deb is missing: run this on Debian or Ubuntu" >&2; exit 1; }
arch=$(dpkg --print-architecture)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
make --no-print-directory --silent install-files PROGRAM="$program" PREFIX=/usr DESTDIR="$tree"

if command -v strip >/dev/null; then strip --strip-unneeded "$tree/usr/bin/electd"; fi

doc=$tree/usr/share/doc/electd
install -d -m 755 "$tree/etc/electd"
{ cat "$doc/LICENSE"; echo; cat "$doc/NOTICE"; } > "$doc/copyright"
rm "$doc/LICENSE"
gzip -9nc CHANGELOG.md > "$doc/NEWS.gz"
gzip -9n "$tree"/usr/share/man/man1/*.1

# The program needs only the C library that it was built with, or a later one.
libc=$(grep -ao 'GLIBC_[0-9]*\.[0-9]*' "$tree/usr/bin/electd" | sed 's/GLIBC_//' | sort -uV | tail -n 1)
install -d "$tree/DEBIAN"
maintainer="${DEBFULLNAME:-electd} <${DEBEMAIL:-root@localhost}>"
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@ARCH@/$arch/" -e "s/@DEPENDS@/libc6 (>= $libc), libgcc-s1/" \
    packaging/debian/control.in > "$tree/DEBIAN/control"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$tree/DEBIAN/"
package=$out/electd_${version}_$arch.deb
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
echo "$package"
