/// An error of the control interfaces: what failed, why, and what to do.
///
/// The same shape travels as the parameters of a Varlink error, serves as the last disconnect error, and stands on
/// standard error with `--json` (design, section 5).
package struct ControlError: Error, Hashable, Sendable {
    /// Which error it is: the last part of the Varlink error `org.tunneld.<name>`.
    package var name: Name
    /// What failed, in one sentence: "Can't start home.".
    package var message: String
    /// Why: what the system, the kernel or the peer said.
    package var reason: String?
    /// What the person can do about it.
    package var remedy: String?
    /// Which field of a document or parameter is at fault: "provider.configuration.peers[0].publicKey".
    package var field: String?
    /// The provider's own error, where it gave one.
    package var underlying: ProviderError?

    package init(
        _ name: Name,
        _ message: String,
        reason: String? = nil,
        remedy: String? = nil,
        field: String? = nil,
        underlying: ProviderError? = nil
    ) {
        self.name = name
        self.message = message
        self.reason = reason
        self.remedy = remedy
        self.field = field
        self.underlying = underlying
    }

    /// The errors by name.
    ///
    /// The first six have Apple's codes in the domain NEVPNErrorDomain, the others codes of our own in org.tunneld.
    package enum Name: String, Codable, Sendable, CaseIterable {
        case configurationInvalid = "ConfigurationInvalid"
        case configurationDisabled = "ConfigurationDisabled"
        case connectionFailed = "ConnectionFailed"
        case configurationStale = "ConfigurationStale"
        case configurationReadWriteFailed = "ConfigurationReadWriteFailed"
        case configurationUnknown = "ConfigurationUnknown"
        case permissionDenied = "PermissionDenied"
        case notFound = "NotFound"
        case nameTaken = "NameTaken"
        case secretUnavailable = "SecretUnavailable"
        case providerUnknown = "ProviderUnknown"
        case providerFailed = "ProviderFailed"
        case networkSettingsFailed = "NetworkSettingsFailed"
        case timedOut = "TimedOut"
        case notRunning = "NotRunning"
        case invalidParameter = "InvalidParameter"
        case malformedMessage = "MalformedMessage"
        case tooMany = "TooMany"
        case versionMismatch = "VersionMismatch"
        case unavailable = "Unavailable"
        case internalError = "InternalError"
        case inUse = "InUse"
        case tunnelNotRunning = "TunnelNotRunning"
        case providerDied = "ProviderDied"
        case messagesUnsupported = "MessagesUnsupported"
    }

    /// `NEVPNErrorDomain` for Apple's six, else `org.tunneld`.
    package var domain: String { code <= 6 ? "NEVPNErrorDomain" : "org.tunneld" }

    /// 1 to 6 as in `NEVPNError.Code`; 100 and more for our own.
    package var code: Int {
        switch name {
        case .configurationInvalid: 1
        case .configurationDisabled: 2
        case .connectionFailed: 3
        case .configurationStale: 4
        case .configurationReadWriteFailed: 5
        case .configurationUnknown: 6
        case .permissionDenied: 100
        case .notFound: 101
        case .nameTaken: 102
        case .secretUnavailable: 103
        case .providerUnknown: 104
        case .providerFailed: 105
        case .networkSettingsFailed: 106
        case .timedOut: 107
        case .notRunning: 108
        case .invalidParameter: 109
        case .malformedMessage: 110
        case .tooMany: 111
        case .versionMismatch: 112
        case .unavailable: 113
        case .internalError: 114
        case .inUse: 115
        case .tunnelNotRunning: 116
        case .providerDied: 117
        case .messagesUnsupported: 118
        }
    }

    /// The Varlink error name: "org.tunneld.ConfigurationStale".
    package var varlinkName: String { "org.tunneld.\(name.rawValue)" }
}

extension ControlError: CustomStringConvertible {
    /// What failed, why, and what to do, in one line.
    package var description: String { [message, reason, remedy].compactMap(\.self).joined(separator: " ") }
}

extension ControlError: Codable {
    private enum CodingKeys: String, CodingKey { case name, domain, code, message, reason, remedy, field, underlying }

    /// The domains of our own errors.
    private static let ownDomains: Set<String> = ["NEVPNErrorDomain", "org.tunneld"]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decodeIfPresent(String.self, forKey: .name) ?? ""
        message = try container.decode(String.self, forKey: .message)
        underlying = try container.decodeIfPresent(ProviderError.self, forKey: .underlying)
        let domain = try container.decodeIfPresent(String.self, forKey: .domain)
        if let known = Name(rawValue: text) {
            name = known
        } else if let domain, !Self.ownDomains.contains(domain) {
            // A provider's own, as it stands: its code means nothing among ours.
            name = .providerFailed
            let code = try container.decodeIfPresent(Int.self, forKey: .code) ?? 0
            underlying = underlying ?? ProviderError(domain: domain, code: code, message: message)
        } else {
            name = .internalError
        }
        reason = try container.decodeIfPresent(String.self, forKey: .reason)
        remedy = try container.decodeIfPresent(String.self, forKey: .remedy)
        field = try container.decodeIfPresent(String.self, forKey: .field)
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(domain, forKey: .domain)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encode(reason, forKey: .reason)
        try container.encode(remedy, forKey: .remedy)
        try container.encode(field, forKey: .field)
        try container.encode(underlying, forKey: .underlying)
    }
}
