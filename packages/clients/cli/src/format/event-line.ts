/** Formats events as one line each, for `tail`, `history` and the attached daemon. */
import { senderName } from "@aegis/client/views/words.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { TurnError, TurnReason } from "@aegis/contract/turn.ts";
import { actionLine, askEnd, shortAskId } from "./ask-view.ts";
import type { SessionNames } from "./session-names.ts";
import type { Style } from "./style.ts";
import { displayWidth, oneLine, plural, truncate } from "./text.ts";
import { clockTime } from "./time.ts";
import { usageWords } from "./usage.ts";
import { fitLine } from "./visible.ts";

/** `width` also applies to a pipe: it has no edge, but each event must stay one line. */
export type LineOptions = { style: Style; width: number; names: SessionNames };

/** The line, or null for events that are not shown. */
export function eventLine(event: Event, options: LineOptions): string | null {
  const text = describe(event, options);
  if (text === null) return null;
  const time = clockTime(event.at);
  const who = event.session === null ? "aegis" : options.names.label(event.session);
  const room = Math.max(40, options.width - time.length - who.length - 4);
  return `${options.style.dim(time)}  ${options.style.cyan(who)}  ${text(room)}`;
}

type Text = (room: number) => string;

function describe(event: Event, options: LineOptions): Text | null {
  const { style } = options;
  const plain =
    (text: string): Text =>
    (room) =>
      truncate(text, room);
  const painted =
    (paint: (text: string) => string, text: string): Text =>
    (room) =>
      paint(truncate(text, room));
  switch (event.type) {
    case "daemon.started":
      return painted(style.dim, `daemon ${event.data.version} started (pid ${event.data.pid})`);
    case "daemon.stopping":
      return painted(style.dim, `daemon is stopping: ${event.data.reason}`);
    case "config.reloaded":
      return painted(style.dim, `configuration reloaded: ${plural(event.data.agents.length, "agent")}`);
    case "config.rejected":
      return painted(style.red, `configuration not applied: ${event.data.problems.join("; ")}`);
    case "node.joined":
      return painted(style.dim, `node ${event.data.node} joined`);
    case "node.lost":
      return painted(
        style.yellow,
        `node ${event.data.node} is lost; ${event.data.by} took over ${plural(event.data.moved, "session")}, ${event.data.away} away`,
      );
    case "node.changed":
      return painted(style.dim, `node ${event.data.node}: ${event.data.state}`);
    case "client.changed":
      return painted(style.dim, `client ${event.data.client}: ${event.data.state}`);
    case "session.moved":
      return painted(style.dim, `runs on node ${event.data.node} now`);
    case "session.created":
      return plain(`started, agent ${event.data.session.agent}`);
    case "session.renamed":
      return plain(`is the new name of ${event.data.before}`);
    case "session.titled":
      return plain(`title: ${event.data.title === "" ? "(none)" : event.data.title}`);
    case "session.agent":
      return plain(`agent: ${event.data.agent}${event.data.model === null ? "" : `, model ${event.data.model}`}`);
    case "session.state":
      return event.data.state === "error" ? painted(style.red, `error: ${event.data.error ?? "unknown"}`) : null;
    case "session.closed":
      return painted(style.dim, `closed: ${event.data.reason}`);
    case "session.memory_lost":
      return painted(style.yellow, "its conversation restarts: the agent does not remember earlier messages");
    case "session.notice":
    case "turn.notice":
      return painted(event.data.level === "info" ? style.dim : style.yellow, event.data.text);
    case "message.admitted":
      return plain(`← ${senderName(event.data.message)}: ${event.data.message.body}`);
    case "message.cancelled":
      return painted(style.dim, `message ${event.data.message} was cancelled`);
    case "message.received":
      return painted(style.dim, `plugins changed message ${event.data.message} to: ${event.data.body}`);
    case "message.steered":
      return painted(style.dim, `message ${event.data.message} joined the current turn`);
    case "message.redelivered":
      return painted(style.yellow, `message ${event.data.message} returns to the queue for the next turn`);
    case "message.lost":
      return painted(style.red, `message ${event.data.message} was lost: ${event.data.reason}`);
    case "ask.opened":
      return askOpened(event.data, style);
    case "ask.settled":
      return (room) =>
        style.dim(fitLine(`ask ${shortAskId(event.data.ask)} was ${askOutcome(event.data)}`, room, "aegis asks --all"));
    case "queue.added":
      return plain(`queue ${event.data.queue} was added, agent ${event.data.settings.agent}`);
    case "queue.removed":
      return plain(`queue ${event.data.queue} was removed`);
    case "queue.paused":
      return painted(style.yellow, `queue ${event.data.queue} is paused`);
    case "queue.resumed":
      return plain(`queue ${event.data.queue} was resumed`);
    case "task.enqueued":
      return plain(`${event.data.queue} ← task ${event.data.task.id}: ${event.data.task.payload}`);
    case "task.dispatched": {
      const worker = options.names.label(event.data.worker);
      return painted(style.dim, `${event.data.queue}: task ${event.data.task} was assigned to ${worker}`);
    }
    case "task.deferred":
      return painted(
        style.dim,
        `${event.data.queue}: task ${event.data.task} waits for ${event.data.waiting_on.join(", ")}`,
      );
    case "task.requeued":
      return painted(style.yellow, `${event.data.queue}: task ${event.data.task} waits again: ${event.data.reason}`);
    case "task.ended":
      return taskEnd(event.data, style);
    case "group.created":
      return plain(`group ${event.data.group.name}: ${handlesOf(event.data)}`);
    case "group.joined":
      return plain(`group ${event.data.name} got ${handlesOf(event.data)}`);
    case "group.broadcast":
      return plain(`group ${event.data.name} ← ${event.data.objective}`);
    case "group.replied":
      return painted(
        event.data.status === "error" ? style.yellow : style.dim,
        `${event.data.error === null ? "replied" : event.data.error} (group ${event.data.name})`,
      );
    case "group.settled":
      return painted(style.dim, `group ${event.data.name}: broadcast ${event.data.broadcast} is settled`);
    case "group.dissolved":
      return painted(style.dim, `group ${event.data.name} was dissolved`);
    case "run.started":
      return plain(`${event.data.workflow}: run ${event.data.run} started`);
    case "run.resumed":
      return painted(
        style.yellow,
        `${event.data.workflow}: run ${event.data.run} resumed after ${plural(event.data.steps, "step")}`,
      );
    case "run.step":
      return stepLine(event.data, style);
    case "run.checkpoint":
      return plain(`${event.data.workflow}: reached ${event.data.name}`);
    case "run.log":
      return painted(
        event.data.level === "info" ? style.dim : style.yellow,
        `${event.data.workflow}: ${event.data.text}`,
      );
    case "run.output":
      return painted(style.dim, `${event.data.workflow} | ${event.data.text}`);
    case "run.parked":
      return painted(style.red, `${event.data.workflow}: run ${event.data.run} is parked: ${event.data.detail}`);
    case "run.ended":
      return runEnd(event.data, style);
    case "schedule.added":
    case "schedule.changed":
      return painted(style.dim, `schedule ${event.data.schedule} was ${event.type.slice("schedule.".length)}`);
    case "schedule.removed":
      return painted(style.dim, `schedule ${event.data.schedule} was removed`);
    case "schedule.fired":
      return plain(`schedule ${event.data.schedule} fires (${event.data.firing.id})`);
    case "schedule.skipped":
      return painted(style.yellow, `schedule ${event.data.schedule} skips a slot: ${event.data.firing.error}`);
    case "schedule.started":
      return painted(style.dim, `schedule ${event.data.schedule} started ${event.data.effect}`);
    case "schedule.ended":
      return firingEnd(event.data, style);
    case "subagent.spawned":
      return plain(`started the subagent ${event.data.subagent.label}: ${event.data.subagent.task}`);
    case "subagent.ended":
      return subagentEnd(event.data, style);
    case "subagent.forwarded":
      return painted(style.dim, `the result of the subagent ${event.data.label} was passed on`);
    case "subagent.archived":
      return painted(style.dim, `the subagent ${event.data.label} was cleaned up`);
    case "pool.leased":
      return painted(style.dim, `${event.data.key} is used by ${options.names.label(event.data.holder)}`);
    case "pool.evicted":
      return painted(style.dim, `${event.data.key} left the pool: ${event.data.reason}`);
    case "plugin.loaded":
    case "plugin.reloaded":
      return painted(style.dim, `the plugin ${event.data.plugin} ${event.data.version} was ${event.type.slice(7)}`);
    case "plugin.failed":
      return painted(style.red, `the plugin ${event.data.plugin} failed: ${event.data.reason}`);
    case "plugin.restarting":
      return painted(
        style.yellow,
        `the plugin ${event.data.plugin} stopped and is being restarted: ${event.data.reason}`,
      );
    case "plugin.restored":
      return painted(style.dim, `the plugin ${event.data.plugin} was restarted`);
    case "plugin.removed":
      return painted(style.dim, `the plugin ${event.data.plugin} was removed`);
    case "plugin.gates_missing": {
      const { plugin, hooks, reason } = event.data;
      return painted(
        style.red,
        `gates of ${plugin} are missing, so the actions they guard are refused: ${hooks.join(", ")}: ${reason}`,
      );
    }
    case "plugin.gates_held":
      return painted(style.dim, `no gates of ${event.data.plugin} are missing now`);
    case "skill.installed":
    case "skill.updated":
    case "skill.removed":
      return painted(style.dim, `the skill ${event.data.name} was ${event.type.slice(6)} (${event.data.source})`);
    case "skill.given":
      return painted(style.dim, `given: ${event.data.skills.map(({ name, how }) => `${name} (${how})`).join(", ")}`);
    case "skill.routed": {
      const { skill, agent, handle } = event.data;
      return painted(style.yellow, `routed to ${handle}: the skill ${skill} is for the agent ${agent}`);
    }
    case "turn.started":
      return painted(style.dim, event.data.spontaneous ? "turn started by the agent itself" : "turn started");
    case "turn.text":
      return plain(event.data.text);
    case "turn.thinking":
      return painted(style.dim, `thinking: ${event.data.text}`);
    case "turn.tool_call":
      return painted(style.dim, `→ ${event.data.title === "" ? event.data.name : event.data.title}`);
    case "turn.tool_result":
      return event.data.is_error ? painted(style.yellow, `tool failed: ${event.data.output}`) : null;
    case "turn.plan":
      return painted(style.dim, `plan: ${event.data.entries.map((entry) => entry.text).join("; ")}`);
    case "turn.compaction":
      return painted(style.dim, "the conversation was summarised to fit the model's context");
    case "worktree.ready":
      return worktreeReady(event.data, style);
    case "worktree.failed":
      return painted(style.red, `its worktree could not be created: ${event.data.problem}`);
    case "worktree.removed":
      return painted(style.dim, `its worktree was removed: ${event.data.reason}`);
    case "rescue.saved":
      return painted(style.dim, `${plural(event.data.files, "file")} of its worktree stored as ${event.data.ref}`);
    case "rescue.failed":
      return painted(style.red, `its worktree was kept: ${event.data.problem}`);
    case "land.queued":
      return painted(style.dim, `waits to land on ${event.data.target}`);
    case "land.started":
      return painted(style.dim, `is landing on ${event.data.target}`);
    case "land.ended": {
      const { state, target, detail } = event.data;
      const paint = state === "landed" ? style.green : style.yellow;
      return painted(paint, `${landWords[state]} ${target}${detail === null ? "" : `: ${detail}`}`);
    }
    case "claim.refused": {
      const { path, why, by } = event.data;
      return painted(style.yellow, `may not write ${path}: ${claimWords[why]}${by === null ? "" : ` (${by})`}`);
    }
    case "receipt.recorded": {
      const { receipt } = event.data;
      return painted(receipt.status === "passed" ? style.green : style.yellow, receiptWords(receipt));
    }
    case "changes.recorded":
      return changeCounts(event.data, style);
    case "turn.ended":
      return endText(event.data, style);
    case "tool.called":
    case "pool.released":
    case "turn.accepted":
    case "turn.usage":
    case "turn.context":
    case "turn.mode":
    case "turn.raw":
    case "turn.memory":
      return null;
    default:
      return unknownEvent(event);
  }
}

export const landWords: Readonly<Record<EventOf<"land.ended">["data"]["state"], string>> = {
  new: "waits for",
  planning: "waits for",
  ready: "waits for",
  checked: "waits for",
  returning: "waits for",
  waiting: "not landed yet on",
  conflict: "conflicts with",
  failed: "not landed on",
  nothing: "nothing to land on",
  landed: "landed on",
  cancelled: "cancelled, not landed on",
};

const claimWords: Readonly<Record<EventOf<"claim.refused">["data"]["why"], string>> = {
  changed: "it was changed since the session read it",
  deleted: "it was deleted since the session read it",
  unread: "another session wrote it and this one has not read it",
  held: "another session has claimed it",
  circle: "the sessions would wait for each other",
  limit: "the session claims too many files",
};

function worktreeReady({ dir, branch, left_out }: EventOf<"worktree.ready">["data"], style: Style): Text {
  const missing = left_out === 0 ? "" : ` without ${plural(left_out, "uncommitted file")}`;
  return (room) => style.dim(truncate(`works on ${branch}${missing} in ${dir}`, room));
}

function changeCounts({ files, added, deleted, shared, problem }: EventOf<"changes.recorded">["data"], style: Style) {
  if (problem !== null) return (room: number) => style.yellow(truncate(`changes not recorded: ${problem}`, room));
  if (files === 0) return null;
  const doubt = shared === 0 ? "" : `, ${shared} of them shared with other sessions`;
  return (room: number) => style.dim(truncate(`changed ${plural(files, "file")}: +${added} -${deleted}${doubt}`, room));
}

function taskEnd({ queue, task, status, result, error }: EventOf<"task.ended">["data"], style: Style): Text {
  const paint = { completed: style.green, failed: style.red, cancelled: style.yellow }[status];
  const more = status === "completed" ? result : error;
  return (room) => paint(truncate(`${queue}: task ${task} ${status}${more ? `: ${more}` : ""}`, room));
}

function stepLine({ workflow, label, status, error }: EventOf<"run.step">["data"], style: Style): Text {
  const words = {
    begun: `${workflow}: ${label} …`,
    ok: `${workflow}: ${label}`,
    error: `${workflow}: ${label} failed: ${error}`,
  };
  return (room) => (status === "error" ? style.yellow : style.dim)(truncate(words[status], room));
}

function runEnd({ workflow, run, status, error }: EventOf<"run.ended">["data"], style: Style): Text {
  const paint = { ok: style.green, error: style.red, cancelled: style.yellow }[status];
  return (room) => paint(truncate(`${workflow}: run ${run} ended: ${error === null ? status : error.message}`, room));
}

function firingEnd({ schedule, status, result, error }: EventOf<"schedule.ended">["data"], style: Style): Text {
  const more = error ?? result;
  const text = `schedule ${schedule}: ${status}${more ? `: ${more}` : ""}`;
  return (room) => (status === "ok" ? style.green : style.red)(truncate(text, room));
}

function subagentEnd({ label, status, result, error }: EventOf<"subagent.ended">["data"], style: Style): Text {
  const paint = status === "done" ? style.green : style.yellow;
  const more = error ?? result;
  return (room) => paint(truncate(`subagent ${label} ${status}${more ? `: ${more}` : ""}`, room));
}

function askOpened({ ask }: EventOf<"ask.opened">["data"], style: Style): Text {
  const id = shortAskId(ask.id);
  const text = `asks: ${actionLine(ask)}`;
  const whole = `${text} (aegis answer ${id})`;
  return (room) => style.yellow(displayWidth(whole) <= room ? whole : fitLine(text, room, `aegis ask show ${id}`));
}

function askOutcome({ status, answer, by = null, reason = null }: EventOf<"ask.settled">["data"]): string {
  return askEnd({ status, answer, settled_by: by, settled_reason: reason });
}

function handlesOf({ members }: Pick<EventOf<"group.joined">["data"], "members">): string {
  return members.map((member) => member.handle).join(", ");
}

/** How a turn ended, in words. */
export function endWords(reason: TurnReason, error: TurnError | null): string {
  const words: Record<TurnReason, string> = {
    completed: "turn completed",
    cancelled: "turn interrupted",
    failed: "turn failed",
    refused: "turn refused",
    truncated: "turn reached a limit",
    lost: "turn interrupted by a crash of the daemon",
  };
  return error === null ? words[reason] : `${words[reason]}: ${oneLine(error.message)}`;
}

function endText({ reason, error, usage }: EventOf<"turn.ended">["data"], style: Style): Text {
  const paint = reason === "completed" ? style.green : reason === "failed" ? style.red : style.yellow;
  const used = usageWords(usage);
  const words = `${endWords(reason, error)}${used === null ? "" : ` (${used})`}`;
  return (room) => paint(truncate(words, room));
}

/** A newer daemon may send an event that this client does not know. */
function unknownEvent(event: never): Text {
  const { type } = event as { type: string };
  return () => type;
}
