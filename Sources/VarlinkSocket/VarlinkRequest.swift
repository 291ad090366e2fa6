package import LinuxSystem
package import VarlinkCore

/// One call, with who made it and what came with it.
package struct VarlinkRequest: Sendable {
    package let call: VarlinkCall
    package let caller: PeerCredentials
    /// Closed when nobody holds them any more.
    package let descriptors: [SharedDescriptor]
    /// Where the answers go.
    package let responder: Responder

    /// The parameters as a type.
    ///
    /// - Throws: `VarlinkError.invalidParameter`, which a handler lets through.
    package func parameters<T: Decodable>(as type: T.Type = T.self) throws -> T { try call.decode(type) }
}
