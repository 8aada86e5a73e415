#!/usr/bin/env python3
"""Tries what `make dist` makes from programs, with two scripts in their place: test.py. Says each thing that it tried."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PLAYED = "#!/bin/sh\necho played\n"


def run(*command, **environment):
    return subprocess.run(
        command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environment},
    ).stdout


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "played"
        self.program.write_text(PLAYED)
        self.program.chmod(0o755)


class Image(Folder):
    """The image: each blob is what its digest says, and each platform has its program."""

    def make(self, name):
        out = self.folder / name
        other = self.folder / "other"
        other.write_text(PLAYED + "# of the other kind\n")
        run("python3", "packaging/image.py", "1.2.3", str(out), "LICENSE,NOTICE", f"x86_64={self.program}", f"aarch64={other}")
        return out

    def test_it_is_whole_and_has_both_kinds(self):
        with tarfile.open(self.make("image.tar")) as tar:
            files = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}

        def blob(described):
            content = files["blobs/sha256/" + described["digest"].removeprefix("sha256:")]
            self.assertEqual(described["digest"], "sha256:" + hashlib.sha256(content).hexdigest())
            self.assertEqual(described["size"], len(content))
            return content

        [named] = json.loads(files["index.json"])["manifests"]
        manifests = json.loads(blob(named))["manifests"]
        self.assertEqual([one["platform"]["architecture"] for one in manifests], ["amd64", "arm64"])
        programs = []
        for one in manifests:
            manifest = json.loads(blob(one))
            config = json.loads(blob(manifest["config"]))
            self.assertEqual(config["architecture"], one["platform"]["architecture"])
            [layer] = manifest["layers"]
            raw = gzip.decompress(blob(layer))
            self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(raw).hexdigest()])
            with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
                program = tar.getmember("usr/bin/electd")
                self.assertEqual(program.mode, 0o755)
                state = tar.getmember("var/lib/electd")
                self.assertEqual((state.mode, f"{state.uid}:{state.gid}"), (0o700, config["config"]["User"]))
                self.assertIn("usr/share/doc/electd/LICENSE", tar.getnames())
                programs.append(tar.extractfile(program).read().decode())
        self.assertEqual(programs[0], PLAYED)
        self.assertNotEqual(programs[1], PLAYED)

    def test_the_same_input_gives_the_same_bytes(self):
        self.assertEqual(self.make("one.tar").read_bytes(), self.make("two.tar").read_bytes())


class Bill(Folder):
    """The bill of materials and the licences name the crates of Cargo.lock that are linked."""

    def test_each_library_has_its_licence(self):
        if not shutil.which("cargo"):
            self.skipTest("cargo is missing")
        bill, licences = self.folder / "bill.json", self.folder / "LICENSES.txt"
        run("python3", "packaging/bill.py", "1.2.3", str(bill), str(licences))
        components = json.loads(bill.read_text())["components"]
        names = {component["name"] for component in components}
        # One of each kind: linked on both processors, asked for its notice, for tests alone, a macro, our own.
        self.assertIn("crossbeam", names)
        self.assertIn("audio_thread_priority", names)
        self.assertFalse(names & {"insta", "tempfile", "serde_derive", "syn", "ring", "electd", "electd-election"})
        text = licences.read_text()
        for component in components:
            version = f" {component['version']}" if "version" in component else ""
            self.assertIn(f"{component['name']}{version} (", text)
        # Of what is below all crates, and of what a crate carries in a folder.
        self.assertTrue(names >= {"rust-std", "musl", "zig"})
        for author in ["Rich Felker", "The Rust Project Contributors", "Zig contributors", "the fiat-crypto authors"]:
            self.assertIn(author, text)
        self.assertIn("Mozilla Public License", text)


class Packages(Folder):
    """The packages of a program for another kind of processor, with the manual that one of this kind prints."""

    def played(self):
        """A printer of manuals."""
        printer = self.folder / "printer"
        printer.write_text('#!/bin/sh\nif [ "$1" = man ]; then mkdir -p "$3"; echo .TH >"$3/electd.1"; '
                                'echo .TH >"$3/electd.json.5"; else echo; fi\n')
        printer.chmod(0o755)
        return str(printer)

    def test_a_debian_package_of_a_static_program_needs_no_library(self):
        if not shutil.which("dpkg-deb"):
            self.skipTest("dpkg-deb is missing")
        arguments = [str(self.program), "1.2.3", str(self.folder), "arm64", self.played()]
        made = [run("sh", "packaging/deb.sh", *arguments, DEBFULLNAME="", DEBEMAIL="").strip()]
        self.assertEqual(made[0], f"{self.folder}/electd_1.2.3_arm64.deb")
        first = pathlib.Path(made[0]).read_bytes()
        run("sh", "packaging/deb.sh", *arguments, DEBFULLNAME="", DEBEMAIL="")
        self.assertEqual(first, pathlib.Path(made[0]).read_bytes(), "the same bytes")
        fields = run("dpkg-deb", "--field", made[0])
        # lintian finds an error in an address at this host.
        self.assertIn("Maintainer: electd <nobody@electd.invalid>", fields)
        self.assertIn("Architecture: arm64", fields)
        self.assertNotIn("Depends", fields)
        files = run("dpkg-deb", "--contents", made[0])
        for path in ["usr/bin/electd", "usr/share/man/man5/electd.json.5.gz", "usr/lib/systemd/system/electd@.service"]:
            self.assertIn(f"./{path}\n", files)

    def test_an_rpm_has_the_same_files(self):
        if not shutil.which("rpmbuild"):
            self.skipTest("rpmbuild is missing")
        arguments = [str(self.program), "1.2.3", str(self.folder), "aarch64", self.played()]
        made = run("sh", "packaging/rpm.sh", *arguments).splitlines()[-1]
        first = pathlib.Path(made).read_bytes()
        run("sh", "packaging/rpm.sh", *arguments)
        self.assertEqual(first, pathlib.Path(made).read_bytes(), "the same bytes")
        files = run("rpm", "-qlp", made).splitlines()
        for path in ["/usr/bin/electd", "/usr/share/man/man5/electd.json.5.gz", "/etc/electd"]:
            self.assertIn(path, files)
        self.assertEqual(run("rpm", "-qp", "--queryformat", "%{ARCH}", made), "aarch64")


class Static(Folder):
    """How the static program is built, with scripts in the place of cargo, rustc and zig."""

    def play(self, name, *lines):
        script = self.folder / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        script.chmod(0o755)
        return str(script)

    def test_a_second_build_has_the_linker_at_the_same_place(self):
        target = "x86_64-unknown-linux-musl"
        source = self.folder / "lib/rustlib/src/rust/library"
        source.mkdir(parents=True)
        (source / "Cargo.lock").touch()
        built = self.folder / "target" / target / "dist"
        built.mkdir(parents=True)
        linkers = self.folder / "linkers"
        self.play("zig")
        environment = {
            "STATIC_RUSTC": self.play("rustc", f"echo {self.folder}"),
            "CARGO": self.play("cargo", f"env | grep _LINKER= >> {linkers}", f"touch {built}/electd"),
            "CARGO_TARGET_DIR": str(self.folder / "target"),
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
        }
        for _ in range(2):
            run("sh", "packaging/static.sh", target, str(self.folder / "out"), **environment)
        first, second = linkers.read_text().splitlines()
        self.assertEqual(first, second, "cargo would build all again")
        linker = pathlib.Path(first.split("=", 1)[1])
        self.assertTrue(os.access(linker, os.X_OK))


if __name__ == "__main__":
    sys.argv.append("--verbose")
    unittest.main()
