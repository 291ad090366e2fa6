"""What is around the tunnels: `tunnelctl network` and `org.tunneld.Network`."""

import json
import unittest

from lab import SLACK, Lab, run, wait_for
from test_permission import BUS

# What resolved and NetworkManager say, for a bus of the lab's own.
SERVICES = '''
import sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
index = int(sys.argv[1])
bus = dbus.SystemBus()
class Resolved(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        if name == "DNS":
            return dbus.Array([(0, 2, dbus.ByteArray(bytes([192, 0, 2, 1]))),
                               (index, 2, dbus.ByteArray(bytes([192, 0, 2, 53])))], signature="(iiay)")
        if name == "Domains":
            return dbus.Array([(index, "corp.example", False), (index, ".", True)], signature="(isb)")
        # As a version before 246 says of DNSEx.
        raise dbus.exceptions.DBusException("no " + name, name="org.freedesktop.DBus.Error.UnknownProperty")
class Manager(dbus.service.Object):
    @dbus.service.method("org.freedesktop.NetworkManager", in_signature="s", out_signature="o")
    def GetDeviceByIpIface(self, name):
        return dbus.ObjectPath("/device/" + name)
class Device(dbus.service.Object):
    metered = 3
    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return dbus.UInt32(self.metered)
    @dbus.service.signal("org.freedesktop.DBus.Properties", signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass
    @dbus.service.method("test.Change", in_signature="u")
    def Set(self, metered):
        self.metered = metered
        self.PropertiesChanged("org.freedesktop.NetworkManager.Device", {"Metered": dbus.UInt32(metered)}, [])
resolved = Resolved(dbus.service.BusName("org.freedesktop.resolve1", bus), "/org/freedesktop/resolve1")
name = dbus.service.BusName("org.freedesktop.NetworkManager", bus)
manager = Manager(name, "/org/freedesktop/NetworkManager")
device = Device(name, "/device/eth0")
print("ready", flush=True)
GLib.MainLoop().run()
'''


class Network(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("netw")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()
        self.a.ip("route", "add", "default", "via", "10.99.0.2", "metric", "100")

    def link(self, network, name):
        return next(link for link in network["links"] if link["name"] == name)

    def start_bus(self):
        """A bus of the lab's own, which tunneld knows from its start."""
        self.bus = self.lab.folder / "bus"
        configuration = self.lab.folder / "bus.conf"
        configuration.write_text(BUS.format(path=self.bus))
        self.a.popen("dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile")
        wait_for("the bus", self.bus.exists, 10)
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.bus}", "PATH": "/usr/bin:/bin"}
        self.daemon.environment.update(self.environment)
        self.daemon.terminate()
        self.daemon.start()

    def services(self, namespace):
        """What speaks for systemd-resolved and NetworkManager there, once it does."""
        script = self.lab.folder / "services.py"
        script.write_text(SERVICES)
        index = self.a.ip_json("link", "show", "eth0")[0]["ifindex"]
        services = namespace.popen("/usr/bin/python3", script, index, env=self.environment, log="services")
        wait_for("the services", lambda: "ready" in services.log_path.read_text(), 10 * SLACK)
        return services

    def test_what_is_there_is_shown(self):
        self.daemon.ctl("up", "home")
        network = self.daemon.json("network")
        self.assertEqual(set(network), {"readAt", "primaryInterface", "links", "defaultRoutes", "dnsServers", "searchDomains"})
        self.assertEqual(network["primaryInterface"], "eth0")
        self.assertIn({"family": "IPv4", "interface": "eth0", "gateway": "10.99.0.2", "metric": 100}, network["defaultRoutes"])
        self.assertEqual(network["dnsServers"], ["192.0.2.53"])
        eth = self.link(network, "eth0")
        self.assertEqual(set(eth), {
            "index", "name", "kind", "driver", "up", "carrier", "mtu", "hardwareAddress", "addresses", "dnsServers",
            "searchDomains", "routeOnlyDomains", "metered", "wirelessName"})
        shown = self.a.ip_json("addr", "show", "eth0")[0]
        self.assertEqual((eth["index"], eth["hardwareAddress"], eth["mtu"]), (shown["ifindex"], shown["address"], 1500))
        self.assertEqual(set(eth["addresses"]), {f"{i['local']}/{i['prefixlen']}" for i in shown["addr_info"]})
        self.assertEqual((eth["kind"], eth["driver"], eth["up"], eth["carrier"]), ("virtual", "veth", True, True))
        self.assertIsNone(eth["metered"])
        self.assertIsNone(eth["wirelessName"])
        self.assertEqual(self.link(network, self.daemon.status("home")["interface"])["kind"], "tunnel")
        self.assertEqual(self.link(network, "lo")["kind"], "loopback")
        text = self.daemon.ctl("network").stdout
        self.assertRegex(text, r"eth0 +virtual \(veth\) +up +1500 +10\.99\.0\.1/24")
        self.assertIn("default route IPv4 by eth0 via 10.99.0.2, metric 100", text)

    def test_each_change_is_told(self):
        watch = self.daemon.popen("network", "--watch", "--json", log="network")
        lines = lambda: [json.loads(line) for line in watch.log_path.read_text().splitlines() if line.endswith("}")]
        wait_for("the present network", lines, 10 * SLACK)
        self.assertEqual(lines()[0]["changes"], [])

        def told(kind, interface, value):
            change = {"kind": kind, "interface": interface, "value": value}
            wait_for(f"{change}", lambda: any(change in line["changes"] for line in lines()), 2 * SLACK)

        self.a.ip("addr", "add", "192.0.2.7/32", "dev", "eth0")
        told("addressAdded", "eth0", "192.0.2.7/32")
        self.a.ip("link", "set", "eth0", "mtu", "1400")
        told("mtuChanged", "eth0", "1400")
        self.b.ip("link", "set", "eth0", "down")
        told("carrierLost", "eth0", None)
        told("primaryLinkChanged", None, None)
        self.b.ip("link", "set", "eth0", "up")
        told("carrierFound", "eth0", None)
        told("primaryLinkChanged", "eth0", None)
        self.a.ip("route", "del", "default")
        told("defaultRoutesChanged", None, "")
        # A client that goes away leaves nothing behind that reads on.
        watch.terminate()
        self.assertEqual(watch.wait(10 * SLACK), 0)

    def test_resolved_and_networkmanager_are_asked(self):
        self.start_bus()
        self.assertIsNone(self.link(self.daemon.json("network"), "eth0")["metered"])
        services = self.services(self.a)
        eth = self.link(self.daemon.json("network"), "eth0")
        self.assertEqual(eth["dnsServers"], ["192.0.2.53"])
        self.assertEqual((eth["searchDomains"], eth["routeOnlyDomains"]), (["corp.example"], ["."]))
        self.assertIs(eth["metered"], True)
        self.assertEqual(self.link(self.daemon.json("network"), "lo")["dnsServers"], [])
        # The same services in another network: their links are others of the same numbers.
        services.kill()
        services.wait()
        services = self.services(self.b)
        eth = self.link(self.daemon.json("network"), "eth0")
        self.assertEqual((eth["dnsServers"], eth["metered"]), ([], None))

    def test_what_the_kernel_does_not_tell_is_told_too(self):
        self.start_bus()
        watch = self.daemon.popen("network", "--watch", "--json", log="network")
        lines = lambda: [json.loads(line) for line in watch.log_path.read_text().splitlines() if line.endswith("}")]
        wait_for("the present network", lines, 10 * SLACK)
        eth = lambda: self.link(lines()[-1]["network"], "eth0")
        self.assertEqual((eth()["dnsServers"], eth()["metered"]), ([], None))
        # A service that comes, one that changes its mind, and a file: rtnetlink is silent in all three.
        services = self.services(self.a)
        wait_for("name servers", lambda: eth()["dnsServers"] == ["192.0.2.53"], 2 * SLACK)
        wait_for("metered", lambda: eth()["metered"] is True, 2 * SLACK)
        self.a.exec("gdbus", "call", "--address", f"unix:path={self.bus}", "--dest", "org.freedesktop.NetworkManager",
                    "--object-path", "/device/eth0", "--method", "test.Change.Set", "uint32 2")
        wait_for("not metered", lambda: eth()["metered"] is False, 2 * SLACK)
        for server in ("192.0.2.99", "192.0.2.98"):
            self.a.resolv_conf.write_text(f"nameserver {server}\n")
            wait_for("the file", lambda: lines()[-1]["network"]["dnsServers"] == [server], 2 * SLACK)
        services.kill()
        services.wait()
        wait_for("no service", lambda: (eth()["dnsServers"], eth()["metered"]) == ([], None), 2 * SLACK)

    def test_300_links_and_20000_routes(self):
        batch = "".join(f"link add m{i} type veth peer name n{i}\n" for i in range(150))
        batch += "".join(f"route add 10.{100 + i // 250}.{i % 250}.0/24 via 10.99.0.2\n" for i in range(20_000))
        run("ip", "-n", self.a.name, "-batch", "-", input=batch, timeout=120)
        network = self.daemon.json("network")
        self.assertEqual(len(network["links"]), len(self.a.ip_json("link")))
        self.assertEqual(network["primaryInterface"], "eth0")


if __name__ == "__main__":
    unittest.main()
