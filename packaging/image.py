#!/usr/bin/env python3
"""An image with nothing but the static program: image.py VERSION OUT LICENSES x86_64=PROGRAM aarch64=PROGRAM.

Writes an OCI archive for `podman load`, `docker load` (from version 25 on) and `skopeo copy oci-archive:OUT`. There is no
shell in it: hooks, checks and jobs that are scripts need the image of the Containerfile, or one of your own with this
program in it. The same input and SOURCE_DATE_EPOCH give the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import time

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
# A number that no host gives to a person, and that orchestrators take for a user other than root.
USER = 65532
# The program's own, and those of libraries that are linked into it.
LICENCES = "MIT AND MPL-2.0 AND ISC AND BSD-3-Clause AND Apache-2.0"
PLATFORMS = {"x86_64": {"architecture": "amd64", "os": "linux"}, "aarch64": {"architecture": "arm64", "os": "linux"}}


def add(tar, path, content=None, mode=0o644, owner=0):
    """Adds a file, or a folder if there is no content."""
    entry = tarfile.TarInfo(path)
    entry.mode, entry.mtime, entry.uid, entry.gid = mode, EPOCH, owner, owner
    if content is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))


def layer(program, licences):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in ["etc", "etc/electd", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/electd", "var", "var/lib"]:
            add(tar, folder, mode=0o755)
        add(tar, "etc/passwd", f"electd:x:{USER}:{USER}::/var/lib/electd:/nowhere\n".encode())
        add(tar, "etc/group", f"electd:x:{USER}:\n".encode())
        add(tar, "tmp", mode=0o1777)
        add(tar, "usr/bin/electd", pathlib.Path(program).read_bytes(), mode=0o755)
        for path in licences:
            add(tar, f"usr/share/doc/electd/{pathlib.Path(path).name}", pathlib.Path(path).read_bytes())
        add(tar, "var/lib/electd", mode=0o700, owner=USER)
    return raw.getvalue()


class Archive:
    """The blobs of an image, by their hashes."""

    def __init__(self):
        self.blobs = {}

    def put(self, content, kind):
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def put_json(self, content, kind):
        return self.put(json.dumps(content, sort_keys=True).encode(), f"{kind}.v1+json")

    def manifest(self, version, arch, program, licences):
        raw = layer(program, licences)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
        config = {
            **PLATFORMS[arch],
            "created": moment,
            "config": {
                "User": f"{USER}:{USER}",
                "Entrypoint": ["/usr/bin/electd"],
                "Cmd": ["run"],
                "Env": ["PATH=/usr/bin"],
                "Volumes": {"/var/lib/electd": {}},
                "StopSignal": "SIGTERM",
                "Labels": {"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": LICENCES},
            },
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(raw).hexdigest()]},
            "history": [{"created": moment, "created_by": "image.py"}],
        }
        packed = gzip.compress(raw, compresslevel=9, mtime=0)
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.put_json(config, "config"),
            "layers": [self.put(packed, "layer.v1.tar+gzip")],
        }
        return {**self.put_json(manifest, "manifest"), "platform": PLATFORMS[arch]}


def main():
    version, out, licences, *programs = sys.argv[1:]
    archive = Archive()
    manifests = [archive.manifest(version, *program.split("=", 1), licences.split(",")) for program in programs]
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    named = {**archive.put_json(index, "index"), "annotations": {
        "org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"docker.io/library/electd:{version}",
    }}
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [named]}).encode())
        for digest, content in sorted(archive.blobs.items()):
            add(tar, f"blobs/sha256/{digest}", content)


if __name__ == "__main__":
    main()
