package import ControlAPI

/// The provider's open requests to tunneld, each waiting for its `Supply`.
///
/// A request is sent again to a tunneld that attaches later, since the one that had it may have ended.
package struct RequestBook<Context> {
    private var open: [(request: ProviderRequest, context: Context)] = []
    private var lastNumber = 0

    package init() {}

    /// In the order in which they were made.
    package var unanswered: [ProviderRequest] { open.map(\.request) }

    /// Opens a request.
    ///
    /// - Returns: what to send.
    package mutating func add(
        _ kind: ProviderRequest.Kind,
        name: String? = nil,
        port: Int? = nil,
        context: Context
    ) -> ProviderRequest {
        lastNumber += 1
        let request = ProviderRequest(number: lastNumber, kind: kind, name: name, port: port)
        open.append((request, context))
        return request
    }

    /// Closes the request with this number.
    ///
    /// - Throws: `notFound` where there is none: answered before, or never made.
    package mutating func answer(_ number: Int) throws(ControlError) -> Context {
        guard let index = open.firstIndex(where: { $0.request.number == number }) else {
            throw ControlError(
                .notFound,
                "No request of the provider has this number.",
                reason: "Number \(number) was answered before, or never made.",
                field: "request"
            )
        }
        return open.remove(at: index).context
    }

    /// Closes every request whose context fits; no answer is taken for it any more.
    package mutating func withdraw(where fits: (Context) -> Bool) { open.removeAll { fits($0.context) } }
}
