#!/usr/bin/env python3
"""What is linked into the program: bill.py VERSION BILL LICENSES.

Writes a bill of materials (CycloneDX 1.5, JSON) of the crates in Cargo.lock that the static program electd is built from,
of the libraries below them, and a text with the licence of each, as its source has it. Asks `cargo tree` and
`cargo metadata`; the sources have to be fetched already. Who leaves a crate's licence out would break it, so a crate without one is
an error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
# What is linked too, and is no crate of Cargo.lock: its name, its licence, its source, and its text in packaging/licences.
BELOW = [
    ("rust-std", "MIT OR Apache-2.0", "https://github.com/rust-lang/rust", "rust.txt"),
    ("musl", "MIT", "https://musl.libc.org", "musl.txt"),
    ("zig", "MIT", "https://ziglang.org", "zig.txt"),
]
# Files of a crate that hold a licence or a notice.
LICENCE = re.compile(r"^(un)?licen[cs]e|^copying|^copyright|^notice|^authors$", re.IGNORECASE)
# Crates whose package has no such file: where the words are.
ELSEWHERE = "The package has no text of its licence. It is published under {license}, at {source}."


def cargo(*words):
    return subprocess.run(["cargo", *words, "--locked"], check=True, text=True, stdout=subprocess.PIPE).stdout


def linked():
    """The packages that the program has on either target: no crates for building or tests, no macros and what they are made of."""
    packages = {}
    for package in json.loads(cargo("metadata", "--format-version", "1"))["packages"]:
        packages[package["name"], package["version"]] = package
    used = set()
    for target in TARGETS:
        tree = cargo("tree", "--package", "electd", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none")
        used |= {tuple(line.replace(" v", " ", 1).split()[:2]) for line in tree.splitlines() if line}
    return [packages[one] for one in sorted(used)]


def licence_files(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    # At every depth: a crate may carry the source of somebody else.
    found = [
        path for path in sorted(folder.rglob("*"))
        if LICENCE.match(path.name) and path.is_file() and path.suffix not in [".rs", ".yml"]
    ]
    named = package.get("license_file")
    if named and (folder / named).is_file() and folder / named not in found:
        found.append(folder / named)
    return found


def component(package):
    name, version = package["name"], package["version"]
    reference = f"pkg:cargo/{name}@{version}"
    entry = {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference}
    if package.get("license"):
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def main():
    version, bill, licences = sys.argv[1:]
    packages = linked()
    ours = [package for package in packages if package["source"] is None]
    others = [package for package in packages if package["source"] is not None]
    nameless = [package["name"] for package in others if not (package.get("license") or package.get("license_file"))]
    if nameless:
        sys.exit(f"bill.py: no licence is named by {', '.join(nameless)}")
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    below = [
        {"type": "library", "bom-ref": name, "name": name, "licenses": [{"expression": license}],
         "externalReferences": [{"type": "website", "url": source}]}
        for name, license, source, _ in BELOW
    ]
    components = [component(package) for package in others] + below
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {
                "type": "application", "bom-ref": "electd", "name": "electd", "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": "electd", "dependsOn": [one["bom-ref"] for one in components]}],
    }
    pathlib.Path(bill).write_text(json.dumps(document, indent=1) + "\n")

    texts = {}
    for name, license, source, text in BELOW:
        words = (pathlib.Path(__file__).resolve().parent / "licences" / text).read_text().strip()
        texts.setdefault(words, []).append(f"{name} ({license}), {source}")
    for package in others:
        files = licence_files(package)
        source = package.get("repository") or f"https://crates.io/crates/{package['name']}"
        words = [path.read_text(errors="replace").strip() for path in files]
        words = words or [ELSEWHERE.format(license=package["license"], source=source)]
        for text in words:
            texts.setdefault(text, []).append(f"{package['name']} {package['version']} ({package.get('license')})")
    with open(licences, "w") as out:
        names = ", ".join(sorted(package["name"] for package in ours))
        out.write(f"electd {version} is under the licence MIT. It consists of {names}, and of these libraries:\n")
        for text, names in sorted(texts.items(), key=lambda item: item[1]):
            out.write("\n" + "=" * 100 + "\n" + "\n".join(names) + "\n" + "-" * 100 + "\n" + text + "\n")


if __name__ == "__main__":
    main()
