package import VarlinkCore

/// What a server serves: the interfaces and who answers each method.
package struct VarlinkService: Sendable {
    /// Answers one call, through its responder, now or later.
    ///
    /// What it throws becomes an error reply: a `VarlinkError` as it is, a `VarlinkErrorConvertible` as it says, anything
    /// else as `org.tunneld.InternalError`. It runs in a task of its own; that of a call with `more` is cancelled when the
    /// caller goes away, that of any other call is not, because a client may end at any moment.
    package typealias Handler = @Sendable (VarlinkRequest) async throws -> Void

    package let description: ServiceDescription
    private var handlers: [String: Handler] = [:]

    package init(_ description: ServiceDescription) { self.description = description }

    /// The methods that have a handler, for `ServiceDescription.disagreements(with:)`.
    package var methods: Set<String> { Set(handlers.keys) }

    /// Registers who answers a method ("org.tunneld.Sessions.Start").
    package mutating func on(_ method: String, _ handler: @escaping Handler) { handlers[method] = handler }

    /// Registers who answers a method with one reply after the other.
    ///
    /// A call that doesn't say `more` gets `org.varlink.service.ExpectedMore`.
    package mutating func onMore(_ method: String, _ handler: @escaping Handler) {
        on(method) { request in
            guard request.responder.wantsMore else { throw VarlinkError.expectedMore }
            try await handler(request)
        }
    }

    /// Registers a function from parameters to the only reply.
    package mutating func on<Parameters: Decodable & Sendable, Result: Encodable & Sendable>(
        _ method: String,
        _ body: @escaping @Sendable (Parameters, VarlinkRequest) async throws -> Result
    ) {
        on(method) { request in
            let result = try await body(request.parameters(), request)
            try request.responder.reply(result)
        }
    }

    /// Has every method that is registered by now wait for something before it is answered.
    ///
    /// - Parameter gate: what it throws becomes the answer.
    package mutating func hold(_ gate: @escaping @Sendable () async throws -> Void) {
        handlers = handlers.mapValues { handler in
            { request in
                try await gate()
                try await handler(request)
            }
        }
    }

    func handler(for method: String) -> Handler? { handlers[method] }
}
