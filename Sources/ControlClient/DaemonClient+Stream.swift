import ControlAPI
import VarlinkCore
import VarlinkSocket

extension DaemonClient {
    /// The replies of a call that has several, as they come, on a connection of its own.
    ///
    /// The stream ends with a `ControlError` when the connection does, and ends the connection when nobody holds it.
    func stream<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable
    ) async throws(ControlError) -> AsyncThrowingStream<Reply, any Error> {
        do {
            let connection = try await connect()
            let replies = try await connection.callMore(method, parameters, firstReplyTimeout: readPatience)
            let (stream, continuation) = AsyncThrowingStream<Reply, any Error>.makeStream()
            let task = Task {
                do {
                    for try await reply in replies { continuation.yield(try reply.decode()) }
                    continuation.finish()
                } catch {
                    let error = silence(error, of: connection, method)
                    continuation.finish(throwing: await translate(error, of: method))
                }
            }
            continuation.onTermination = { @Sendable _ in
                task.cancel()
                Task { await connection.close() }
            }
            return stream
        } catch {
            throw await translate(error, of: method)
        }
    }
}
