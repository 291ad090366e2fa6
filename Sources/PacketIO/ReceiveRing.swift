package import CShims

/// Room for what one reception gives: up to 64 trains of datagrams, 64 KiB each.
///
/// Pages never touched take no memory.
@safe package final class ReceiveRing {
    package static let count = Int(SHIM_UDP_BATCH)
    private static let size = 65536

    private let memory: UnsafeMutableRawPointer
    let trains: UnsafeMutablePointer<shim_udp_train>

    package init() {
        unsafe memory = .allocate(byteCount: ReceiveRing.count * ReceiveRing.size, alignment: 4096)
        unsafe trains = .allocate(capacity: ReceiveRing.count)
        for index in 0..<ReceiveRing.count {
            unsafe (trains + index).initialize(
                to: shim_udp_train(
                    buffer: memory + index * ReceiveRing.size,
                    capacity: UInt32(ReceiveRing.size),
                    length: 0,
                    segment: 0,
                    truncated: false,
                    ecn: 0,
                    source: SocketAddress()
                )
            )
        }
    }

    deinit {
        unsafe memory.deallocate()
        unsafe trains.deallocate()
    }

    /// One train; its memory may be written to until the next reception.
    package subscript(_ index: Int) -> shim_udp_train {
        precondition(index >= 0 && index < ReceiveRing.count)
        return unsafe trains[index]
    }
}
