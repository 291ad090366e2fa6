package import ControlAPI
import FoundationEssentials
import LinuxSystem

/// The runtime folder of one provider: what tunneld left in it, and the paths of the provider's own sockets.
package struct LaunchFolder: Sendable {
    package let launch: LaunchDocument
    package let controlPath: String
    package let descriptorsPath: String

    /// Reads the launch file of the folder.
    ///
    /// - Throws: `providerFailed`, with what is missing or wrong.
    package init(directory: String) throws(ControlError) {
        controlPath = directory + "/control"
        descriptorsPath = directory + "/descriptors"
        do {
            let bytes = try FileSystem.contents(ofFile: directory + "/launch", limit: 64 << 10)
            launch = try JSONDecoder().decode(LaunchDocument.self, from: Data(bytes))
        } catch let error as SystemError {
            throw Self.failure("\(directory)/launch: \(error)", remedy: Self.startRemedy)
        } catch {
            throw Self.failure("\(directory)/launch isn't a launch document.", remedy: Self.startRemedy)
        }
    }

    private static let startRemedy = "A provider is started by tunneld; use tunnelctl up."

    private static func failure(_ reason: String, remedy: String) -> ControlError {
        ControlError(.providerFailed, "The provider can't start.", reason: reason, remedy: remedy)
    }
}
