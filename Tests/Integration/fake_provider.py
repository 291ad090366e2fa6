"""A provider that carries nothing and does what it is told: how tunneld meets those that hang, fail and die.

The program is that of the unit tests; here tunneld finds it by a descriptor in its configuration directory.
"""

import json
import os
import shutil

from lab import ROOT, wait_for

PROGRAM = ROOT / "Tests/ControlDaemonTests/Fixtures/tunnel-provider-fake"


class FakeProviders:
    """The fake as one provider for each way of misbehaving, and configurations of them."""

    def __init__(self, lab, daemon):
        self.lab, self.daemon = lab, daemon
        self.count = 0
        self.folder = lab.folder / "fakes"
        self.folder.mkdir(exist_ok=True)
        os.chmod(self.folder, 0o755)
        (daemon.configuration / "providers").mkdir(exist_ok=True)

    def install(self, *behaviour):
        """A provider that does this from its launch on; its identifier."""
        word = ",".join(behaviour)
        program = self.folder / f"fake@{word}"
        shutil.copy(PROGRAM, program)
        os.chmod(program, 0o755)
        identifier = f"org.example.{word.replace(',', '.') or 'good'}"
        (self.daemon.configuration / "providers" / f"{identifier}.json").write_text(json.dumps({
            "identifier": identifier, "executable": str(program), "name": "Fake", "protocol": 1, "principalClass": None,
            "secretKeys": [], "memoryLimit": None}))
        return identifier

    def save(self, name, *behaviour, behave=()):
        """A configuration of such a provider; its identifier."""
        self.count += 1
        reply = self.daemon.call("org.tunneld.Configurations.Save", {"generation": 0, "configuration": {
            "name": name, "type": "provider", "enabled": True, "provider": {
                "identifier": self.install(*behaviour), "configuration": {
                    "behave": list(behave), "addresses": [f"192.0.2.{self.count}/32"],
                    "routes": [f"198.51.{self.count}.0/24"]}}}})
        if "error" in reply:
            raise AssertionError(reply)
        return reply["parameters"]["identifier"]

    def start(self, identifier):
        reply = self.daemon.call("org.tunneld.Sessions.Start", {"identifier": identifier})
        if "error" in reply:
            raise AssertionError(reply)
        return reply["parameters"]

    def stop(self, identifier, session=None):
        reply = self.daemon.call("org.tunneld.Sessions.Stop", {"identifier": identifier, "session": session})
        if "error" in reply:
            raise AssertionError(reply)

    def view(self, identifier):
        reply = self.daemon.call("org.tunneld.Sessions.Status", {"identifier": identifier})
        return reply["parameters"]["sessions"][0]

    def wait(self, identifier, status, timeout=60):
        return wait_for(f"{identifier} to be {status}",
                        lambda: (view := self.view(identifier))["status"] == status and view, timeout)

    def processes(self):
        """The processes of fakes that run."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0") if entry.isdigit() else []
                state = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[0] if words else "Z"
            except OSError:
                continue
            if any(word.startswith(os.fsencode(self.folder)) for word in words) and state != "Z":
                found.append(int(entry))
        return found

    def leftovers(self):
        """What sessions leave on the machine while they run."""
        links = [link["ifname"] for link in self.daemon.namespace.ip_json("link") if link["ifname"] != "lo"]
        journals = [path.name for path in self.daemon.runtime.glob("journal/*.json")]
        folders = [path.name for path in (self.daemon.runtime / "providers").iterdir()]
        return links + journals + folders + self.processes()
