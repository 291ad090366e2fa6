package import FoundationEssentials

/// An error as it stands in a reply: a name and parameters.
package struct VarlinkError: Error, Equatable, Sendable {
    /// Interface and error: "org.tunneld.ConfigurationUnknown".
    package let name: String
    /// The JSON text of an object.
    package let parameters: Data

    package init(_ name: String, encoded parameters: Data = VarlinkJSON.emptyObject) {
        self.name = name
        self.parameters = parameters
    }

    /// - Parameter parameters: its JSON must be an object; where it has none, the error goes without.
    package init(_ name: String, _ parameters: some Encodable) {
        self.init(name, encoded: (try? VarlinkJSON.encode(parameters)) ?? VarlinkJSON.emptyObject)
    }

    package func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try VarlinkJSON.decode(type, from: parameters)
    }
}

extension VarlinkError: CustomStringConvertible {
    package var description: String {
        if let told = try? decode(Told.self) {
            return "\(name): \([told.message, told.reason].compactMap(\.self).joined(separator: " "))"
        }
        return parameters == VarlinkJSON.emptyObject ? name : "\(name) \(String(decoding: parameters, as: UTF8.self))"
    }

    /// What most errors have for a person.
    private struct Told: Decodable {
        let message: String
        let reason: String?
    }
}

/// An error of a part's own that knows how it is told to a caller.
package protocol VarlinkErrorConvertible: Error {
    var varlinkError: VarlinkError { get }
}

/// The errors that every service has (org.varlink.service), and those of the transport.
extension VarlinkError {
    package static func interfaceNotFound(_ interface: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InterfaceNotFound", ["interface": interface])
    }

    package static func methodNotFound(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotFound", ["method": method])
    }

    package static func methodNotImplemented(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotImplemented", ["method": method])
    }

    package static func invalidParameter(_ parameter: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InvalidParameter", ["parameter": parameter])
    }

    /// The method replies again and again, and the call doesn't say `more`.
    package static let expectedMore = VarlinkError("org.varlink.service.ExpectedMore")

    /// The message isn't Varlink; `message` says what is wrong and where.
    package static func malformedMessage(_ error: MessageError) -> VarlinkError {
        VarlinkError("org.tunneld.MalformedMessage", ["message": error.description])
    }

    /// A bound that protects the service was reached: connections, or bytes that wait.
    package static func limitExceeded(_ message: String) -> VarlinkError {
        VarlinkError("org.tunneld.LimitExceeded", ["message": message])
    }

    /// A fault of the service's own.
    package static func internalError(_ message: String) -> VarlinkError {
        VarlinkError("org.tunneld.InternalError", ["message": message])
    }
}
