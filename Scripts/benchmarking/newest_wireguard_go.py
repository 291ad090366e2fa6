"""The newest wireguard-go that Debian has, as a package of the mirror that this machine uses anyway.

apt does it, with lists and a cache of its own, so that the archive's signature is checked and the machine's own sources
stay as they are. What was fetched is kept in `.build/wireguard-go`; remove that folder to fetch again.
"""

import shutil
import subprocess
from pathlib import Path

SUITES = ("sid", "trixie")
KNOWN_SUITES = {"bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldstable", "stable", "testing", "unstable"}
INDEX_FORMAT = "$(RELEASE)\t$(COMPONENT)\t$(ORIGIN)\t$(REPO_URI)"
ARCHIVE_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


class FetchError(Exception):
    """Why there is no newest wireguard-go, and what to do."""


def newest_wireguard_go(folder):
    """The program's path and version; fetched where `folder` hasn't it yet."""
    for suite in SUITES:
        if (folder / suite / "version").exists():
            return kept(folder / suite)
    reasons = []
    for suite in SUITES:
        for mirror in machine_mirrors():
            print(f"Fetching wireguard-go of Debian {suite} …", flush=True)
            try:
                fetch(folder / suite, f"deb [signed-by={ARCHIVE_KEYS}] {mirror} {suite} main")
                return kept(folder / suite)
            except FetchError as error:
                reasons.append(f"{suite}: {error}")
                shutil.rmtree(folder / suite, ignore_errors=True)
    raise FetchError(
        f"the newest wireguard-go can't be fetched ({'; '.join(reasons)}). Try again with the network up, or give a program "
        "of your own: sudo WIREGUARD_GO=/path/to/wireguard-go Scripts/benchmark")


def kept(folder):
    return folder / "unpacked/usr/bin/wireguard-go", f"{(folder / 'version').read_text().strip()} ({folder.name})"


def machine_mirrors():
    """Where this machine has Debian from."""
    try:
        text = command("apt-get", "indextargets", "--format", INDEX_FORMAT, "Created-By: Packages")
    except FetchError as error:
        raise FetchError(f"apt can't tell this machine's mirror: {error}") from None
    found = debian_mirrors(text)
    if not found:
        raise FetchError(
            "apt has no Debian suite with “main” among its sources, so the newest wireguard-go can't be fetched. Add one, or "
            "give a program of your own: sudo WIREGUARD_GO=/path/to/wireguard-go Scripts/benchmark")
    return found


def debian_mirrors(indextargets):
    """The addresses among apt's index targets (`INDEX_FORMAT`) that have whole suites of Debian."""
    found = []
    for line in indextargets.splitlines():
        release, component, origin, address = line.split("\t")
        # Neither updates nor security, whose archives have no sid; and other people's have names like Debian's suites too.
        # What apt doesn't know of a source yet stands there as the format has it.
        if (component == "main" and release in KNOWN_SUITES and origin in ("Debian", "$(ORIGIN)")
                and address not in found):
            found.append(address)
    return found


def fetch(folder, source):
    """Downloads, checks and unpacks the package."""
    shutil.rmtree(folder, ignore_errors=True)
    apt = folder / "apt"
    for part in ("state/lists/partial", "cache/archives/partial", "no-parts"):
        (apt / part).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(source + "\n")
    (apt / "apt.conf").write_text(f"""
        #clear APT::Update::Post-Invoke;
        #clear APT::Update::Post-Invoke-Success;
        APT::Sandbox::User "root";
        Acquire::Languages "none";
        Dir::State "{apt}/state";
        Dir::State::status "{apt}/status";
        Dir::Cache "{apt}/cache";
        Dir::Etc::SourceList "{apt}/sources.list";
        Dir::Etc::SourceParts "{apt}/no-parts";
        Dir::Etc::Preferences "/dev/null";
        Dir::Etc::PreferencesParts "{apt}/no-parts";
        """)
    options = ("-q", "-c", apt / "apt.conf", "-o", "APT::Update::Error-Mode=any")
    command("apt-get", *options, "update")
    command("apt-get", *options, "download", "wireguard-go", folder=folder)
    package = next(folder.glob("wireguard-go_*.deb"))
    command("dpkg-deb", "--extract", package, folder / "unpacked")
    shutil.rmtree(apt)
    # A newer suite's program may want a newer C library.
    command(folder / "unpacked/usr/bin/wireguard-go", "--version")
    # Last: says that all of the above was done.
    (folder / "version").write_text(command("dpkg-deb", "--field", package, "Version"))


def command(*words, folder=None):
    try:
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=folder, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(str(error)) from None
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise FetchError(f"{words[0]} … {words[-1]}: {lines[0] if lines else f'ended with {result.returncode}'}")
    return result.stdout


def installed_wireguard_go():
    """The installed program and its version, or None."""
    program = shutil.which("wireguard-go")
    if program is None:
        return None
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "wireguard-go"], capture_output=True, text=True).stdout
    return Path(program), f"{version or 'of unknown version'} (installed)"
