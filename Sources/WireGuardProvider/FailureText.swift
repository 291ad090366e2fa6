import ControlAPI

/// The words for each class of failure (design, section 3): what was seen, and what to check.
enum FailureText {
    /// The zone of a link-local address names nothing.
    static func noInterface(_ interface: String, endpoint: String) -> FailureView {
        FailureView(
            kind: .unreachable,
            message: "There is no interface \(interface).",
            remedy: "Check what stands behind the % of \(endpoint): the name or number of one of this machine's "
                + "interfaces (ip link). The peer is called as soon as it is there.",
            endpoint: endpoint
        )
    }

    /// The first look-up takes its time, as it does where no name server answers.
    static func notResolvedYet(endpoint: String) -> FailureView {
        FailureView(
            kind: .name,
            message: "The name in \(endpoint) isn't resolved yet, so nobody could be called.",
            remedy: "It is being looked up. If that goes on, check that this machine's name servers can be reached.",
            endpoint: endpoint
        )
    }

    static func view(_ kind: FailureView.Kind, endpoint: String, attempts: Int, detail: String?) -> FailureView {
        let because = detail.map { " (\($0))" } ?? ""
        return switch kind {
        case .name:
            FailureView(
                kind: kind,
                message: "The name in \(endpoint) doesn't resolve\(because).",
                remedy: "Check the name's spelling and this machine's name servers; it is looked up again by itself.",
                endpoint: endpoint
            )
        case .unreachable:
            FailureView(
                kind: kind,
                message: "The network has no way to \(endpoint)\(because).",
                remedy: "Check this machine's connection and that it has an address of the endpoint's family; it is "
                    + "tried again by itself, at once when the network changes.",
                endpoint: endpoint
            )
        case .refused:
            FailureView(
                kind: kind,
                message: "The way to \(endpoint) says that nobody listens there\(because).",
                remedy: "Check that the peer runs and listens on this port; the message is a hint only, anybody on "
                    + "the way can send it.",
                endpoint: endpoint
            )
        case .answeredNotAuthentic:
            FailureView(
                kind: kind,
                message: "\(endpoint) answers, but its answer doesn't open.",
                remedy: "The pre-shared key differs, or one end has one and the other has none: compare both.",
                endpoint: endpoint
            )
        case .silent:
            FailureView(
                kind: kind,
                message: "\(endpoint) doesn't answer: \(attempts) \(attempts == 1 ? "handshake" : "handshakes") sent.",
                remedy: "Check, since all of these look the same from here: the peer's public key in this "
                    + "configuration; that the peer knows our public key; a filter on the way that drops UDP; the "
                    + "port, and that the peer runs.",
                endpoint: endpoint
            )
        }
    }
}
