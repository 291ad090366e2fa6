package import FoundationEssentials
package import LinuxSystem
import VarlinkCore

/// Parameters of a reply and the descriptors that came with it.
package struct ReceivedReply: Sendable {
    /// The JSON text of an object.
    package let parameters: Data
    /// Closed when nobody holds them any more.
    package let descriptors: [SharedDescriptor]

    /// - Throws: `DecodingError`.
    package func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try VarlinkJSON.decode(type, from: parameters)
    }
}
