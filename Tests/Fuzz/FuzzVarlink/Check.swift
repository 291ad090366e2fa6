import FoundationEssentials
import VarlinkCore

/// Reads a stream of bytes as a service and a client do, and as an interface file.
///
/// However the stream is cut, the same messages come out; what was read is read again as it was written; a decoder never
/// sees what the scanner didn't take.
func checkVarlink(_ stream: [UInt8]) {
    let whole = messages(of: stream, pieces: stream.count)
    precondition(messages(of: stream, pieces: 1 + (stream.count % 7)) == whole, "the pieces change the messages")
    for message in whole {
        checkCall(message)
        checkReply(message)
    }
    checkInterface(stream)
}

private func messages(of stream: [UInt8], pieces size: Int) -> [[UInt8]] {
    var framer = MessageFramer(limit: 1000)
    var messages: [[UInt8]] = []
    for begin in stride(from: 0, to: stream.count, by: max(size, 1)) {
        framer.append(stream[begin..<min(begin + size, stream.count)])
        do throws(MessageError) {
            while let message = try framer.next() {
                precondition(!message.contains(0) && message.count <= 1000)
                messages.append(message)
            }
            precondition(framer.bufferedBytes <= 1000)
        } catch {
            precondition(error == .tooLong(limit: 1000) && framer.bufferedBytes == 0)
            return messages
        }
    }
    return messages
}

private func checkCall(_ message: [UInt8]) {
    do throws(MessageError) {
        let call = try VarlinkCall(parsing: message)
        let again = try VarlinkCall(parsing: call.encoded())
        precondition(again == call, "the call reads otherwise")
        do { _ = try call.decode(Parameters.self) } catch { precondition(error is VarlinkError, "\(error)") }
    } catch {
        precondition(error.isRecoverable && !error.description.isEmpty)
    }
}

private func checkReply(_ message: [UInt8]) {
    guard let reply = try? VarlinkReply(parsing: message) else { return }
    precondition((try? VarlinkReply(parsing: reply.encoded())) == reply, "the reply reads otherwise")
}

private func checkInterface(_ text: [UInt8]) {
    guard let text = String(validating: text, as: UTF8.self) else { return }
    do throws(InterfaceSyntaxError) {
        let interface = try InterfaceDescription(parsing: text)
        precondition(interface.name.contains(".") && interface.text == text)
    } catch {
        precondition(error.line >= 1 && !error.message.isEmpty)
    }
}

private final class Parameters: Decodable {
    let port: UInt16?
    let names: [String]?
    let inner: Parameters?
}
