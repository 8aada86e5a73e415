#!/bin/sh
# Builds the program without any library of the host: static.sh TARGET OUT, where TARGET is x86_64-unknown-linux-musl or
# aarch64-unknown-linux-musl. `make dist` calls it. With --check as OUT it only says what is missing for that.
#
# With the target of rustup and a C compiler for musl this is a plain build. Without, and for the other kind of processor,
# it needs zig (`pip install ziglang`) as compiler and linker, and, if the target's standard library is missing, the source of
# that library, which rustup (`rustup component add rust-src`) or Debian (rustc-web, rust-web-src) has: STATIC_RUSTC names
# the compiler that the source is of.
set -eu
cd "$(dirname "$0")/.."
target=$1 out=$2
arch=${target%%-*}
rustc=${STATIC_RUSTC:-$(command -v rustc)}
sysroot=$("$rustc" --print sysroot)
env_of() { echo "$target" | tr a-z- A-Z_; }

# At the same place each time: when the linker has another path, cargo builds everything again.
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/static/$target

# No path of this machine gets into the program, so two folders give the same bytes. The later prefixes count first.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
remap() { flags="$flags --remap-path-prefix=$1=$2"; c_flags="$c_flags -ffile-prefix-map=$1=$2"; }
flags="-C target-feature=+crt-static -C strip=symbols" c_flags=""
remap "$HOME" /home
for registry in "$cargo_home"/registry/src/*; do remap "$registry" /registry; done
remap "$sysroot/lib/rustlib/src/rust" /rustc
if [ -L "$sysroot/lib/rustlib/src/rust" ]; then remap "$(readlink -f "$sysroot/lib/rustlib/src/rust")" /rustc; fi
remap "$PWD" /electd
if [ -n "${CARGO_TARGET_DIR:-}" ]; then remap "$CARGO_TARGET_DIR" /target; fi

if [ -d "$sysroot/lib/rustlib/$target" ] && command -v "$arch-linux-musl-gcc" >/dev/null; then
    cc=$arch-linux-musl-gcc
elif [ -d "$sysroot/lib/rustlib/$target" ] && [ "$arch" = "$(uname -m)" ] && command -v musl-gcc >/dev/null; then
    cc=musl-gcc
else
    if command -v zig >/dev/null; then zig=zig; elif python3 -c 'import ziglang' 2>/dev/null; then zig="python3 -m ziglang"; else
        echo "zig is missing: python3 -m pip install ziglang; or install rustup's target $target and musl-gcc" >&2
        exit 1
    fi
    mkdir -p "$tools"
    # Rust's tools name the target in words that zig does not know.
    cat > "$tools/cc" <<CC
#!/bin/sh
for word; do
    shift
    case \$word in --target=*|-m64) ;; *) set -- "\$@" "\$word" ;; esac
done
exec $zig cc -target $arch-linux-musl -fno-sanitize=undefined "\$@"
CC
    printf '#!/bin/sh\nexec %s ar "$@"\n' "$zig" > "$tools/ar"
    chmod +x "$tools/cc" "$tools/ar"
    cc=$tools/cc
    export "AR_$(echo "$target" | tr - _)=$tools/ar"
    # The start of a program, and its position, are zig's.
    flags="$flags -C link-self-contained=no -C relocation-model=static"
fi

std=
if [ ! -d "$sysroot/lib/rustlib/$target" ]; then
    if [ ! -e "$sysroot/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        echo "the standard library for $target is missing, and its source too:" \
            "rustup target add $target; or install Debian's rustc-web and rust-web-src, and set STATIC_RUSTC=/usr/bin/rustc" >&2
        exit 1
    fi
    # A twentieth smaller than the one that rustup has. The program is stripped: there is no backtrace to show.
    std="-Z build-std=std,panic_unwind -Z build-std-features=panic-unwind,optimize_for_size"
    export RUSTC_BOOTSTRAP=1
fi

if [ "$out" = --check ]; then exit; fi
export RUSTC="$rustc" RUSTFLAGS="$flags" "CC_$(echo "$target" | tr - _)=$cc" "CFLAGS_$(echo "$target" | tr - _)=$c_flags"
export "CARGO_TARGET_$(env_of)_LINKER=$cc"
# shellcheck disable=SC2086 # several words
${CARGO:-cargo} build --release --locked -p electd --bin electd --target "$target" $std
mkdir -p "$(dirname "$out")"
cp "${CARGO_TARGET_DIR:-target}/$target/release/electd" "$out"
echo "$out"
