import Glibc
import LinuxSystem

/// What lies beside the configurations, a file each: the last timestamps and the last errors.
extension StoreContents {
    /// Sets aside the records that can't be used; what they told is lost, and nothing else.
    mutating func judgeRecords(_ directories: DaemonDirectories) {
        judge(directories.timestamps, "timestamp", directories) { TimestampStore.timestamp(in: $0) != nil }
        judge(directories.lastErrors, "last-error", directories) { LastErrorStore.record(in: $0) != nil }
    }

    private mutating func judge(
        _ folder: String,
        _ kind: String,
        _ directories: DaemonDirectories,
        isUsable: ([UInt8]) -> Bool
    ) {
        for name in ((try? FileSystem.names(inFolder: folder)) ?? []).sorted()
        where !name.hasSuffix(AtomicFile.temporarySuffix) {
            let path = "\(folder)/\(name)"
            do throws(SystemError) {
                if isUsable(try FileSystem.contents(ofFile: path, limit: LastErrorStore.limit)) { continue }
            } catch  where Self.mayPass(error) {
                incidents.append("The file \(path) can't be read and stays unused: \(error).")
                continue
            } catch {}
            do throws(SystemError) {
                let aside = try DamagedFiles(folder: directories.damaged).setAside(path, as: "\(kind)-\(name)")
                incidents.append("The file \(path) can't be used. It was set aside as \(aside).")
            } catch {
                incidents.append("The file \(path) can't be used, nor set aside: \(error).")
            }
        }
    }

    /// Whether a file may well be good.
    private static func mayPass(_ error: SystemError) -> Bool {
        [EACCES, EPERM, EIO, EMFILE, ENFILE, ENOMEM].contains(error.code)
    }
}
