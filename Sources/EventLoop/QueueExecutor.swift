package import Dispatch

/// The executor of an actor that lives on one serial queue, so that its event sources enter it without a hop.
///
/// The actor returns it from `unownedExecutor`; a handler that runs on `queue` enters by `assumeIsolated`.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(label: String, qos: DispatchQoS = .unspecified) {
        queue = DispatchQueue(label: label, qos: qos)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
