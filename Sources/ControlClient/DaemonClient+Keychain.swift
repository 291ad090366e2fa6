package import ControlAPI
package import LinuxSystem
import VarlinkCore
import VarlinkSocket

extension DaemonClient {
    /// Keeps a secret.
    ///
    /// - Parameter bundle: a memfd with a `SecretBundle` whose labels are those of `KeychainCalls`.
    package func addItem(
        _ parameters: KeychainCalls.AddParameters,
        bundle: SharedDescriptor
    ) async throws(ControlError) -> KeychainCalls.AddReply {
        try await call(KeychainCalls.interface + ".Add", parameters, descriptors: [bundle]).reply
    }

    package func findItem(_ parameters: KeychainCalls.FindParameters) async throws(ControlError) -> KeychainCalls.Item {
        let reply: KeychainCalls.FindReply = try await call(KeychainCalls.interface + ".Find", parameters).reply
        return reply.item
    }

    /// Puts another secret, another name, or both, in an item's place.
    package func replaceItem(
        _ parameters: KeychainCalls.ReplaceParameters,
        bundle: SharedDescriptor?
    ) async throws(ControlError) -> KeychainCalls.ReplaceReply {
        let descriptors = bundle.map { [$0] } ?? []
        return try await call(KeychainCalls.interface + ".Replace", parameters, descriptors: descriptors).reply
    }

    package func removeItem(_ reference: String, force: Bool) async throws(ControlError) {
        let parameters = KeychainCalls.RemoveParameters(reference: reference, force: force)
        let _: NoParameters = try await call(KeychainCalls.interface + ".Remove", parameters).reply
    }

    /// Every item that the caller may see.
    package func listItems() async throws(ControlError) -> [KeychainCalls.Item] {
        let method = KeychainCalls.interface + ".List"
        do {
            var all: [KeychainCalls.Item] = []
            for try await reply in try await connect().callMore(method, firstReplyTimeout: patience) {
                all += try reply.decode(KeychainCalls.ListReply.self).items
            }
            return all
        } catch {
            throw await translate(error, of: method)
        }
    }
}
