"""The name of a Wi-Fi network, over simulated radios. Runs inside the virtual machine (Tests/VirtualMachine/run)."""

import json
import unittest

from guest_kernel_wireguard import PATIENCE
from lab import Lab, run, wait_for

ACCESS_POINT = """interface=wlan0
driver=nl80211
ssid={name}
hw_mode=g
channel=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=not-a-secret
"""
STATION = """ctrl_interface={folder}/wpa
network={{
 ssid="{name}"
 psk="not-a-secret"
 scan_freq=2412
}}
"""


class WiFi(unittest.TestCase):
    name = "Café Ω"

    def setUp(self):
        for module in ("mac80211_hwsim", "ccm", "gcm"):
            run("modprobe", module)
        self.addCleanup(run, "modprobe", "-r", "mac80211_hwsim", check=False)
        self.lab = Lab("wifi")
        self.addCleanup(self.lab.close)
        # The station's radio goes into the namespace, the access point's stays.
        self.a = self.lab.namespace("a")
        phy = run("cat", "/sys/class/net/wlan1/phy80211/name").stdout.strip()
        holder = self.a.popen("sleep", "infinity")
        wait_for("the namespace's process", lambda: run("ip", "netns", "pids", self.a.name).stdout.strip(), PATIENCE)
        run("iw", "phy", phy, "set", "netns", str(holder.pid))
        wait_for("the radio", lambda: any(link["ifname"] == "wlan1" for link in self.a.ip_json("link")), PATIENCE)
        self.a.ip("link", "set", "wlan1", "up")
        self.a.ip("addr", "add", "10.50.0.2/24", "dev", "wlan1")

    def start(self):
        point, station = self.lab.folder / "ap.conf", self.lab.folder / "sta.conf"
        point.write_text(ACCESS_POINT.format(name=self.name))
        station.write_text(STATION.format(name=self.name, folder=self.lab.folder))
        run("hostapd", "-B", point)
        self.addCleanup(run, "pkill", "-x", "hostapd", check=False)
        self.a.popen("wpa_supplicant", "-i", "wlan1", "-c", station, "-D", "nl80211")

    def station(self, command):
        self.a.exec("wpa_cli", "-p", self.lab.folder / "wpa", "-i", "wlan1", command)

    def test_the_name_is_shown_while_the_station_is_in_the_network(self):
        daemon = self.lab.tunneld(self.a)
        watch = daemon.popen("network", "--watch", "--json", log="network")
        lines = lambda: [json.loads(line) for line in watch.log_path.read_text().splitlines() if line.endswith("}")]
        wait_for("the present network", lines, PATIENCE)
        wlan = lambda network: next(link for link in network["links"] if link["name"] == "wlan1")
        self.assertEqual((wlan(lines()[0]["network"])["kind"], wlan(lines()[0]["network"])["wirelessName"]), ("wifi", None))
        self.start()
        wait_for("the name", lambda: wlan(lines()[-1]["network"])["wirelessName"] == self.name, 3 * PATIENCE)
        self.assertIn(self.name, daemon.ctl("network").stdout)
        self.station("disconnect")
        wait_for("no name", lambda: wlan(lines()[-1]["network"])["wirelessName"] is None, PATIENCE)
        self.station("reconnect")
        wait_for("the name again", lambda: wlan(lines()[-1]["network"])["wirelessName"] == self.name, 3 * PATIENCE)


if __name__ == "__main__":
    unittest.main()
