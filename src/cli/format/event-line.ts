/** Events as one line each, for `tail`, `history` and the attached daemon. */
import type { Event, EventOf } from "../../contract/event.ts";
import type { Message } from "../../contract/message.ts";
import type { TurnError, TurnReason } from "../../contract/turn.ts";
import type { SessionNames } from "../session-names.ts";
import type { Style } from "./style.ts";
import { oneLine, plural, truncate } from "./text.ts";
import { clockTime } from "./time.ts";

/** One line without colour ends at this width; a pipe has no edge, but a line should stay one. */
export type LineOptions = { style: Style; width: number; names: SessionNames };

/** The line, or null for events that say nothing to a reader. */
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
      return painted(style.dim, `configuration read again: ${plural(event.data.agents.length, "agent")}`);
    case "config.rejected":
      return painted(style.red, `configuration not taken: ${event.data.problems.join("; ")}`);
    case "session.created":
      return plain(`started, agent ${event.data.session.agent}`);
    case "session.renamed":
      return plain(`is the new name of ${event.data.before}`);
    case "session.titled":
      return plain(`title: ${event.data.title === "" ? "(none)" : event.data.title}`);
    case "session.state":
      return event.data.state === "error" ? painted(style.red, `error: ${event.data.error ?? "unknown"}`) : null;
    case "session.closed":
      return painted(style.dim, `closed: ${event.data.reason}`);
    case "session.notice":
    case "turn.notice":
      return painted(event.data.level === "info" ? style.dim : style.yellow, event.data.text);
    case "message.admitted":
      return plain(`← ${senderName(event.data.message)}: ${event.data.message.body}`);
    case "message.cancelled":
      return painted(style.dim, `message ${event.data.message} was taken back`);
    case "message.steered":
      return painted(style.dim, `message ${event.data.message} joined the turn under way`);
    case "message.redelivered":
      return painted(style.yellow, `message ${event.data.message} goes to the next turn again`);
    case "message.lost":
      return painted(style.red, `message ${event.data.message} was lost: ${event.data.reason}`);
    case "ask.opened":
      return painted(style.yellow, `asks: ${event.data.ask.question} (aegis answer ${event.data.ask.id})`);
    case "ask.settled":
      return painted(style.dim, `ask ${event.data.ask} ${askOutcome(event.data)}`);
    case "queue.added":
      return plain(`queue ${event.data.queue} was added, agent ${event.data.settings.agent}`);
    case "queue.removed":
      return plain(`queue ${event.data.queue} was removed`);
    case "queue.paused":
      return painted(style.yellow, `queue ${event.data.queue} is paused`);
    case "queue.resumed":
      return plain(`queue ${event.data.queue} goes on`);
    case "task.enqueued":
      return plain(`${event.data.queue} ← task ${event.data.task.id}: ${event.data.task.payload}`);
    case "task.dispatched": {
      const worker = options.names.label(event.data.worker);
      return painted(style.dim, `${event.data.queue}: task ${event.data.task} was given to ${worker}`);
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
        `${event.data.workflow}: run ${event.data.run} goes on after ${plural(event.data.steps, "step")}`,
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
      return painted(style.yellow, `the plugin ${event.data.plugin} ended and is started again: ${event.data.reason}`);
    case "plugin.restored":
      return painted(style.dim, `the plugin ${event.data.plugin} runs again`);
    case "plugin.removed":
      return painted(style.dim, `the plugin ${event.data.plugin} was removed`);
    case "skill.installed":
    case "skill.updated":
    case "skill.removed":
      return painted(style.dim, `the skill ${event.data.name} was ${event.type.slice(6)} (${event.data.source})`);
    case "skill.given":
      return painted(style.dim, `given: ${event.data.skills.map(({ name, how }) => `${name} (${how})`).join(", ")}`);
    case "skill.routed": {
      const { skill, agent, handle } = event.data;
      return painted(style.yellow, `passed on to ${handle}: the skill ${skill} is for the agent ${agent}`);
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
      return painted(style.dim, "the conversation was shortened to fit the model's context");
    case "turn.ended":
      return endText(event.data.reason, event.data.error, style);
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

function askOutcome({ status, answer }: EventOf<"ask.settled">["data"]): string {
  if (status !== "answered" || answer === null) return `was ${status}`;
  return `was answered: ${answer.choice ?? answer.text}`;
}

function handlesOf({ members }: Pick<EventOf<"group.joined">["data"], "members">): string {
  return members.map((member) => member.handle).join(", ");
}

export function senderName(message: Pick<Message, "sender">): string {
  const { sender } = message;
  switch (sender.kind) {
    case "human":
      return "you";
    case "agent":
      return sender.handle;
    case "queue":
    case "workflow":
    case "schedule":
      return `${sender.kind} ${sender.name}`;
    case "group":
      return `group ${sender.group}`;
    default:
      return sender.kind;
  }
}

/** How a turn ended, in words. */
export function endWords(reason: TurnReason, error: TurnError | null): string {
  const words: Record<TurnReason, string> = {
    completed: "turn completed",
    cancelled: "turn interrupted",
    failed: "turn failed",
    refused: "turn refused",
    truncated: "turn cut off at a limit",
    lost: "turn cut by a crash of the daemon",
  };
  return error === null ? words[reason] : `${words[reason]}: ${oneLine(error.message)}`;
}

function endText(reason: TurnReason, error: TurnError | null, style: Style): Text {
  const paint = reason === "completed" ? style.green : reason === "failed" ? style.red : style.yellow;
  return (room) => paint(truncate(endWords(reason, error), room));
}

/** A newer daemon may send what this client does not know. */
function unknownEvent(event: never): Text {
  const { type } = event as { type: string };
  return () => type;
}
