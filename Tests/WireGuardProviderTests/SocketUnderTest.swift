import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import WireGuardCore

@testable import WireGuardProvider

/// A device socket on a queue of its own, with a device that tells a given report and takes every change.
final class SocketUnderTest: Sendable {
    let report = Mutex(DeviceReport())
    /// While true, changes are not answered.
    let isHolding = Mutex(false)
    let held = Mutex<[Int]>([])
    /// Those of all changes so far.
    let allowedIPs = Mutex(0)
    private let queue = DispatchQueue(label: "device-socket-test")
    private let listener: UnixListener
    private let path: String
    // Only used on the queue.
    nonisolated(unsafe) private var socket: DeviceSocket?

    init() throws {
        path = "/tmp/device-socket-\(getpid())-\(UInt32.random(in: .min ... .max))"
        listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        let queue = queue
        try queue.sync {
            unsafe socket = try DeviceSocket(listener.descriptor, on: queue) { @Sendable [weak self] event in
                self?.handle(event)
            }
        }
    }

    deinit {
        // Nobody else holds it, so nothing of it runs on the queue.
        unsafe socket?.close()
        listener.removeFile()
    }

    /// Gives what must not come the time to come.
    func settle() {
        for _ in 0..<20 {
            queue.sync {}
            usleep(1000)
        }
    }

    /// Answers the changes that were held.
    func release() {
        isHolding.withLock { $0 = false }
        queue.sync {
            for client in held.withLock({ $0 }) { unsafe socket?.answer(client, with: nil) }
            perform()
        }
    }

    func connect() throws -> SocketClient {
        SocketClient(try UnixSocket.connect(.stream, to: UnixSocketAddress(path)))
    }

    /// One operation on a connection of its own.
    func exchange(_ operation: String) throws -> String {
        let client = try connect()
        try client.send(operation)
        return try client.read(answers: 1)
    }

    static func fullReport() -> DeviceReport {
        let secret = SecretKey { bytes in
            for index in 0..<32 { bytes.storeBytes(of: 7, toByteOffset: index, as: UInt8.self) }
        }
        var report = DeviceReport()
        report.privateKey = secret
        report.listenPort = 51820
        report.mark = 0x0800_0000
        guard let key = PublicKey([UInt8](repeating: 10, count: 32)) else { return report }
        report.peers = [
            DeviceReport.Peer(
                publicKey: key,
                presharedKey: secret,
                endpoint: Endpoint("[2001:db8::1]:7"),
                latestHandshake: 1_767_225_600_000_000_005,
                receivedBytes: 1,
                sentBytes: 2,
                persistentKeepalive: 25,
                allowedIPs: ["10.0.0.0/8", "fd00::/64"].compactMap { IPPrefix($0) }
            )
        ]
        return report
    }

    private func handle(_ event: DeviceSocket.Event) {
        unsafe socket?.handle(event)
        perform()
    }

    private func perform() {
        while let (operation, client) = unsafe socket?.next() {
            switch operation {
            case .get:
                let report = report.withLock { $0 }
                unsafe socket?.answer(client, with: report)
            case .set(let change):
                allowedIPs.withLock { $0 += change.peers.reduce(0) { $0 + $1.allowedIPs.count } }
                if isHolding.withLock({ $0 }) {
                    held.withLock { $0.append(client) }
                } else {
                    unsafe socket?.answer(client, with: nil)
                }
            }
        }
    }
}

/// A client of the device socket that waits.
struct SocketClient: ~Copyable {
    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try wait(POLLOUT)
            let raw = descriptor.raw
            do throws(SystemError) {
                let count = try check("send") {
                    unsafe rest.withUnsafeBytes {
                        unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                }
                rest = rest.dropFirst(count)
            } catch {
                if error.code != EAGAIN { throw error }
            }
        }
    }

    /// Reads until so many answers have come, or the end.
    func read(answers: Int) throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if text.hasSuffix("\n\n"), count(text) >= answers { return text }
            try wait(POLLIN)
            let count = unsafe Glibc.read(descriptor.raw, &buffer, buffer.count)
            if count == 0 { return text }
            guard count > 0 else { throw SystemError(errno, in: "read") }
            bytes += buffer[..<count]
        }
    }

    private func count(_ text: String) -> Int { text.split(separator: "\n").count { $0.hasPrefix("errno=") } }

    private func wait(_ events: Int32) throws {
        guard waitUntilReady(descriptor.raw, for: events) else { throw SystemError(ETIMEDOUT, in: "poll") }
    }
}
