// Where Swift runs tasks that belong to no actor: the runtime has a hook for it that Swift itself can't set.
#pragma once

/// Runs all such tasks from now on on queues that never wake the process by themselves.
///
/// To be called once, before the first task.
void shim_run_tasks_quietly(void);
