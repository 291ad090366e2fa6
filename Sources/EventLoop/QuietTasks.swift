import CShims

/// Lets a program that has nothing to do sleep.
///
/// From the first use of one of Dispatch's global queues on, Dispatch on Linux looks once a second, for ever, whether
/// their workers are blocked (src/queue.c, `_dispatch_workq_init_once`); and Swift runs tasks that belong to no actor
/// there. Serial queues of one's own have no such watch. So: a program calls `install` first of all, and nothing uses
/// `DispatchQueue.global`, a concurrent queue, or `Task.sleep`, which goes there too (`Pause` does not).
package enum QuietTasks {
    /// Runs tasks that belong to no actor on two serial queues.
    ///
    /// To be called once, before the first task.
    package static func install() { shim_run_tasks_quietly() }
}
