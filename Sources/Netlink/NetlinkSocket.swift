/// A connection to the kernel's routing tables.
///
/// `RouteSocket` is the real one; tests put a recording fake or a whole pretended kernel in its place.
/// Calls block for as long as the kernel takes (microseconds; a dump of 20,000 routes, milliseconds).
package protocol NetlinkSocket: Sendable {
    /// Sends one request and waits for its acknowledgement.
    ///
    /// - Returns: the messages before the acknowledgement, for a request that asks for something.
    func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage]

    /// Reads a whole table; starts again when the table changed meanwhile.
    func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage]

    /// Sends many requests, several in a datagram.
    ///
    /// - Returns: for each request in its order what went wrong, nil for what worked. One that fails stops no other.
    /// - Throws: when the socket fails, so that nobody knows how many were carried out.
    func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?]
}
