#!/usr/bin/env python3
"""What is linked into the program: bill.py VERSION BILL LICENSES.

Writes a bill of materials (CycloneDX 1.5, JSON) of the crates in Cargo.lock that the program electd is built from, and
a text with the licence of each, as its source has it. Asks `cargo metadata`; the sources have to be fetched already.
Who leaves a crate without a licence out would break that licence, so such a crate is an error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
# Files of a crate that hold a licence or a notice.
LICENCE = re.compile(r"^(un)?licen[cs]e|^copying|^copyright|^notice|^authors$", re.IGNORECASE)
# Crates whose package has no such file: where the words are.
ELSEWHERE = "The package has no text of its licence. It is published under {license}, at {source}."


def metadata():
    """The packages of both targets that are linked: no crates for building or tests, and no macros."""
    packages, used = {}, set()
    for target in TARGETS:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        packages.update({package["id"]: package for package in found["packages"]})
        nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
        todo = [next(p["id"] for p in found["packages"] if p["name"] == "electd")]
        while todo:
            one = todo.pop()
            if one in used:
                continue
            used.add(one)
            for other in nodes[one]["deps"]:
                if any(kind["kind"] is None for kind in other["dep_kinds"]):
                    todo.append(other["pkg"])
    return sorted((packages[one] for one in used), key=lambda package: (package["name"], package["version"]))


def licence_files(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENCE.match(path.name)]
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
    packages = metadata()
    ours = [package for package in packages if package["source"] is None]
    others = [package for package in packages if package["source"] is not None]
    nameless = [package["name"] for package in others if not (package.get("license") or package.get("license_file"))]
    if nameless:
        sys.exit(f"bill.py: no licence is named by {', '.join(nameless)}")
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
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
        "components": [component(package) for package in others],
        "dependencies": [{"ref": "electd", "dependsOn": [component(package)["bom-ref"] for package in others]}],
    }
    pathlib.Path(bill).write_text(json.dumps(document, indent=1) + "\n")

    texts = {}
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
