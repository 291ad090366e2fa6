import CShims
import Glibc

/// A system call that failed: its name and errno.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// errno(3), positive.
    package let code: Int32
    /// What was called: "ioctl(TUNSETIFF)".
    package let call: String

    package init(_ code: Int32, in call: StaticString) {
        self.code = code
        self.call = "\(call)"
    }

    package init(_ code: Int32, call: String) {
        self.code = code
        self.call = call
    }

    /// The call, the text and the symbolic name: "ioctl(TUNSETIFF): Operation not permitted (EPERM)".
    package var description: String { "\(call): \(SystemError.text(code)) (\(SystemError.name(code)))" }

    /// The library's text for an errno.
    package static func text(_ code: Int32) -> String {
        guard let text = unsafe shim_errno_text(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }

    /// The symbolic name of an errno: "EPERM"; "errno 200" for one that the C library doesn't name.
    package static func name(_ code: Int32) -> String {
        guard let name = unsafe shim_errno_name(code) else { return "errno \(code)" }
        return unsafe String(cString: name)
    }
}

/// Makes a system call that answers -1 and sets errno on failure, again after EINTR.
///
/// - Throws: what errno says.
@discardableResult
package func check(_ call: StaticString, _ body: () -> Int32) throws(SystemError) -> Int32 {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(code, in: call) }
    }
}

/// The same for a call that counts bytes.
@discardableResult
package func check(_ call: StaticString, _ body: () -> Int) throws(SystemError) -> Int {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(code, in: call) }
    }
}

/// Makes a call of `CShims`, which answers a value or -errno, again after EINTR.
@discardableResult
package func checkShim(_ call: StaticString, _ body: () -> Int32) throws(SystemError) -> Int32 {
    while true {
        let result = body()
        if result >= 0 { return result }
        if result != -EINTR { throw SystemError(-result, in: call) }
    }
}
