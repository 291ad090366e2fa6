#!/usr/bin/python3
"""As much of logind as an inhibitor needs, on whatever bus DBUS_SYSTEM_BUS_ADDRESS names; told what to do over a socket.

A command is a line of JSON on the Unix socket that the argument names, and is answered by one.
"""

import json
import os
import select
import socket
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME, PATH, MANAGER = "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"


class Logind(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, PATH)
        self.locks, self.asked, self.is_sleeping = [], 0, False
        self.delay, self.behaviour = 5_000_000, "good"

    @dbus.service.method(MANAGER, in_signature="ssss", out_signature="h", async_callbacks=("done", "failed"))
    def Inhibit(self, what, who, why, mode, done, failed):
        self.asked += 1
        if self.behaviour == "hang":
            return
        if self.behaviour == "refuse":
            failed(dbus.exceptions.DBusException("No.", name="org.freedesktop.DBus.Error.AccessDenied"))
            return
        inside, outside = os.pipe()
        self.locks.append((inside, [str(what), str(who), str(why), str(mode)]))
        done(dbus.types.UnixFd(outside))
        os.close(outside)

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        if name == "PreparingForSleep":
            return dbus.Boolean(self.is_sleeping)
        if name == "InhibitDelayMaxUSec":
            return dbus.UInt64(self.delay)
        raise dbus.exceptions.DBusException("No.", name="org.freedesktop.DBus.Error.UnknownProperty")

    @dbus.service.signal(MANAGER, signature="b")
    def PrepareForSleep(self, beginning):
        pass

    def held(self):
        """The locks that somebody still has open."""
        kept = []
        for inside, words in self.locks:
            if select.select([inside], [], [], 0)[0]:
                os.close(inside)
            else:
                kept.append((inside, words))
        self.locks = kept
        return [words for _, words in kept]

    def obey(self, command):
        if "sleep" in command:
            self.is_sleeping = command["sleep"]
            self.PrepareForSleep(self.is_sleeping)
            system.flush()
        if "behave" in command:
            self.behaviour = command["behave"]
        if "delay" in command:
            self.delay = command["delay"]
        # As logind does before it lets the machine sleep.
        end = time.monotonic() + command.get("await", 0)
        while self.held() and time.monotonic() < end:
            select.select([inside for inside, _ in self.locks], [], [], end - time.monotonic())
        return {"locks": self.held(), "asked": self.asked}


def serve(logind, listener):
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as file:
        file.write(json.dumps(logind.obey(json.loads(file.readline()))) + "\n")
    return True


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
system = dbus.SystemBus()
name = dbus.service.BusName(NAME, system)
logind = Logind(system)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
GLib.io_add_watch(listener.fileno(), GLib.IO_IN, lambda *_: serve(logind, listener))
GLib.MainLoop().run()
