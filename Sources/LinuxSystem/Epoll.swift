import CShims
import Glibc

/// An epoll(7) descriptor: several descriptors waited for in one call, level-triggered.
package struct Epoll: ~Copyable, Sendable {
    /// What a descriptor is watched for, and what happened to it.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let readable = Events(rawValue: EPOLLIN.rawValue)
        package static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// Told without being asked for.
        package static let error = Events(rawValue: EPOLLERR.rawValue)
        /// Told once, and then nothing until the descriptor is asked for again by `modify`.
        package static let oneShot = Events(rawValue: EPOLLONESHOT.rawValue)
        /// Told without being asked for.
        package static let hangUp = Events(rawValue: EPOLLHUP.rawValue)
    }

    /// Readable itself while any of its descriptors has something to tell, so it can be watched by another epoll.
    package let descriptor: SharedDescriptor

    package init() throws(SystemError) {
        descriptor = SharedDescriptor(
            OwnedDescriptor(adopting: try checkShim("epoll_create1") { shim_epoll_create() })
        )
    }

    /// Watches a descriptor; `token` comes back with its events.
    package func add(_ watched: Int32, for events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, watched, events, token)
    }

    /// Changes what a watched descriptor is watched for.
    package func modify(_ watched: Int32, for events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, watched, events, token)
    }

    /// Stops watching; to be done before the descriptor is closed, since a duplicate of it would stay watched.
    package func remove(_ watched: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, watched, [], 0)
    }

    private func control(_ operation: Int32, _ watched: Int32, _ events: Events, _ token: UInt64) throws(SystemError) {
        let raw = descriptor.raw
        try checkShim("epoll_ctl") { shim_epoll_control(raw, operation, watched, events.rawValue, token) }
    }

    /// Waits for events, at most `milliseconds` (-1: for ever, 0: not at all).
    ///
    /// - Returns: how many entries of `buffer` were filled; 0 on a timeout or a signal.
    package func wait(into buffer: EpollBuffer, milliseconds: Int32) throws(SystemError) -> Int {
        let result = unsafe shim_epoll_wait(descriptor.raw, buffer.events, Int32(buffer.capacity), milliseconds)
        if result >= 0 { return Int(result) }
        if result == -EINTR { return 0 }
        throw SystemError(-result, in: "epoll_wait")
    }
}

/// Room for the events of one wait, allocated once.
@safe package final class EpollBuffer {
    package let capacity: Int
    fileprivate let events: UnsafeMutablePointer<epoll_event>

    package init(capacity: Int) {
        self.capacity = capacity
        unsafe events = .allocate(capacity: capacity)
        unsafe events.initialize(repeating: epoll_event(), count: capacity)
    }

    deinit { unsafe events.deallocate() }

    /// The token and the events of one filled entry.
    package subscript(_ index: Int) -> (token: UInt64, events: Epoll.Events) {
        precondition(index >= 0 && index < capacity)
        return unsafe (shim_epoll_token(events + index), Epoll.Events(rawValue: events[index].events))
    }
}
