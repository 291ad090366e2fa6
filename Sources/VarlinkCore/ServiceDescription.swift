import FoundationEssentials

/// What a service is and which interfaces it has: the answers of `org.varlink.service`.
package struct ServiceDescription: Sendable {
    package let vendor: String
    package let product: String
    package let version: String
    package let url: String
    package let interfaces: [InterfaceDescription]

    /// - Parameter interfaces: without `org.varlink.service`, which every service has.
    package init(vendor: String, product: String, version: String, url: String, interfaces: [InterfaceDescription]) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.interfaces = [Self.serviceInterface] + interfaces.sorted { $0.name < $1.name }
    }

    /// Answers a method of `org.varlink.service`; nil for a method of another interface that this service has.
    ///
    /// - Throws: the standard errors: no such interface, no such method, a parameter that the method doesn't have, or, of
    ///   those answered here, one that is missing or wrong; a `MessageError` for parameters that aren't JSON, which those
    ///   of a parsed call are.
    package func answer(_ call: VarlinkCall) throws -> VarlinkReply? {
        guard let interface = interfaces.first(where: { $0.name == call.interface }) else {
            throw VarlinkError.interfaceNotFound(String(call.interface))
        }
        guard let method = interface.methods[String(call.method.dropFirst(interface.name.count + 1))] else {
            throw VarlinkError.methodNotFound(call.method)
        }
        // A parameter that would be ignored may be a slip of the pen, or one that only a later version heeds.
        let names = Set(method.input.map(\.name))
        if let unknown = try call.parameterNames().first(where: { !names.contains($0) }) {
            throw VarlinkError.invalidParameter(unknown)
        }
        switch call.method {
        case "org.varlink.service.GetInfo":
            return try VarlinkReply(
                Info(
                    vendor: vendor,
                    product: product,
                    version: version,
                    url: url,
                    interfaces: interfaces.map(\.name)
                )
            )
        case "org.varlink.service.GetInterfaceDescription":
            let name = try call.decode(DescriptionRequest.self).interface
            guard let wanted = interfaces.first(where: { $0.name == name }) else {
                throw VarlinkError.interfaceNotFound(name)
            }
            return try VarlinkReply(["description": wanted.text])
        default: return nil
        }
    }

    /// Where this and a table of methods disagree, one line each: for a test.
    package func disagreements(with methods: some Sequence<String>) -> [String] {
        let declared = Set(
            interfaces.dropFirst().flatMap { interface in interface.methods.keys.map { "\(interface.name).\($0)" } }
        )
        let registered = Set(methods)
        return
            (declared.subtracting(registered).map { "\($0) is declared, but nothing answers it" }
            + registered.subtracting(declared).map { "\($0) is answered, but not declared" }).sorted()
    }

    private struct Info: Encodable {
        let vendor, product, version, url: String
        let interfaces: [String]
    }

    private struct DescriptionRequest: Decodable {
        let interface: String
    }
}

extension ServiceDescription {
    /// Source: https://varlink.org/Service.
    package static let serviceText = """
        # What every Varlink service has: what it is, and which interfaces it implements.
        interface org.varlink.service

        # The service, and the names of its interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # The text of an interface.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service doesn't have this interface.
        error InterfaceNotFound (interface: string)

        # The interface doesn't have this method.
        error MethodNotFound (method: string)

        # The interface has this method, and the service doesn't implement it.
        error MethodNotImplemented (method: string)

        # This parameter is missing, or not what it should be.
        error InvalidParameter (parameter: string)

        # The method replies again and again: call it with "more".
        error ExpectedMore ()

        """

    private static let serviceInterface: InterfaceDescription = {
        do throws(InterfaceSyntaxError) {
            return try InterfaceDescription(parsing: serviceText)
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}
