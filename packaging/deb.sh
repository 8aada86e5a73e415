#!/bin/sh
# Packs a built program as a Debian package: deb.sh PROGRAM VERSION OUT [ARCH [PRINTER]]. `make deb` and `make dist` call it.
# ARCH is Debian's word for the program's kind of processor, PRINTER a program of this host's kind that prints the manual.
# DEBFULLNAME and DEBEMAIL name the maintainer. Without them the address is one that nobody can have (RFC 2606).
set -eu
cd "$(dirname "$0")/.."
program=$1 version=$2 out=$3
command -v dpkg-deb >/dev/null || { echo "dpkg-deb is missing: run this on Debian or Ubuntu" >&2; exit 1; }
arch=${4:-$(dpkg --print-architecture)} printer=${5:-$1}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
make --no-print-directory --silent install-files PROGRAM="$program" PRINTER="$printer" PREFIX=/usr DESTDIR="$tree"

if [ "$program" = "$printer" ] && command -v strip >/dev/null; then strip --strip-unneeded "$tree/usr/bin/electd"; fi

doc=$tree/usr/share/doc/electd
install -d -m 755 "$tree/etc/electd"
{ cat "$doc/LICENSE"; echo; cat "$doc/NOTICE"; } > "$doc/copyright"
rm "$doc/LICENSE"
if [ -n "${LICENSES:-}" ]; then gzip -9nc "$LICENSES" > "$doc/LICENSES.txt.gz"; fi
gzip -9nc CHANGELOG.md > "$doc/NEWS.gz"
maintainer="${DEBFULLNAME:-electd} <${DEBEMAIL:-nobody@electd.invalid}>"
gzip -9n > "$doc/changelog.gz" <<END
electd ($version) unstable; urgency=medium

  * NEWS.gz has what is new.

 -- $maintainer  $(LC_ALL=C date -uR -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
END
gzip -9n "$tree"/usr/share/man/man?/*

overrides=$tree/usr/share/lintian/overrides/electd
install -D -m 644 packaging/debian/lintian-overrides "$overrides"
# The program needs only the C library that it was built with, or a later one; a static one needs none.
libc=$(grep -ao 'GLIBC_[0-9]*\.[0-9]*' "$tree/usr/bin/electd" | sed 's/GLIBC_//' | sort -uV | tail -n 1)
if [ -z "$libc" ]; then
    printf '# One package for every release: it needs no library.\nelectd: statically-linked-binary [usr/bin/electd]\n' >> "$overrides"
fi
depends=${libc:+Depends: libc6 (>= $libc), libgcc-s1}
install -d "$tree/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@ARCH@/$arch/" -e "s/^Depends: @DEPENDS@/$depends/" \
    packaging/debian/control.in | sed '/^$/d' > "$tree/DEBIAN/control"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$tree/DEBIAN/"
(cd "$tree" && find usr etc -type f | LC_ALL=C sort | xargs md5sum > DEBIAN/md5sums)
package=$out/electd_${version}_$arch.deb
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
echo "$package"
