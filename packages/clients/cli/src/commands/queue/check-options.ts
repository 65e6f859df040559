/** The options that name the check of a task. */
import { option } from "../../program/command.ts";

export const checkLimits = {
  checkRetries: option.count("--check-retries <count>", "how often a failed check goes back to the worker (default 2)"),
  checkTimeoutMs: option.duration("--check-timeout <time>", "time limit of one run of the check (default 10m)"),
};

export const queueCheck = {
  check: option.text("--check <command>", "a command that must succeed before a task completes"),
  ...checkLimits,
};
