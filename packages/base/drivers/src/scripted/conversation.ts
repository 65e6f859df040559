/** One conversation with the offline agent: finds the rule for each message of a turn and runs its steps. */

import { messageSeparator, parseHeader, personOrigin } from "@aegis/contract/message-header.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { containedPath } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import { Arrivals } from "../arrivals.ts";
import type { Conversation, ConversationSpec, DriverEvent, Prompt, TurnEnded } from "../driver.ts";
import { judge } from "../tool-approval.ts";
import type { Gates } from "./gates.ts";
import type { Playbook, Rule } from "./playbook/playbook.ts";
import { type PlaybookStep, type SenderKind, type Steps, senderKinds } from "./playbook/schema.ts";
import { render, renderDeep } from "./playbook/texts.ts";
import { callTool, type StepContext } from "./tool-step.ts";

export type ConversationOptions = {
  spec: ConversationSpec;
  playbook: Playbook;
  clock: Clock;
  gates: Gates;
  /** Aborts when the conversation is closed. */
  closed: AbortSignal;
};

type Match = { rule: Rule; captures: readonly string[] };

/** An agent without an answer would look as if it were thinking. */
const noRule: Rule = {
  name: "no rule matches",
  from: null,
  when: [],
  steps: [{ say: "I am an offline agent, and no rule of my playbook matches this message." }],
};

export function createConversation(options: ConversationOptions): Conversation {
  let dead = false;
  let turns = 0;
  const arrivals = new Arrivals();

  return {
    get alive() {
      return !dead && !options.closed.aborted;
    },
    // It keeps no record: a prompt that is sent again finds its earlier side effects by its key.
    restored: { conversation: true, holds: async () => "no" },
    async *send(prompt, signal) {
      if (dead || options.closed.aborted) {
        yield ended("failed", { code: "died", message: "this conversation of the offline agent has ended" });
        return;
      }
      turns += 1;
      const either = AbortSignal.any([signal, options.closed]);
      try {
        arrivals.open();
        const end = yield* runTurn(prompt, turns, arrivals, either, options);
        arrivals.close();
        if (end.error?.code === "died") dead = true;
        yield end;
      } finally {
        // A reader that stops early must not leave a waiting sender behind.
        arrivals.close();
      }
    },
    steer: (message) => arrivals.add(message),
  };
}

async function* runTurn(
  prompt: Prompt,
  number: number,
  arrivals: Arrivals,
  signal: AbortSignal,
  options: ConversationOptions,
): AsyncGenerator<DriverEvent, TurnEnded> {
  const { spec, playbook } = options;
  try {
    signal.throwIfAborted();
    const heard = await hear(prompt, spec, signal);
    const common = {
      handle: spec.session.handle,
      turn_number: String(number),
      system: heard.system,
      history: heard.history,
    };
    if (number === 1 && playbook.opening !== null) {
      yield { type: "text", message: `${prompt.turn}/opening`, text: render(playbook.opening, common) };
    }
    const own = { text: heard.text, parts: prompt.parts, names: { turn: prompt.turn, key: prompt.key } };
    let end = yield* answer(own, common, signal, options);
    signal.throwIfAborted();
    for (let joined = 1; end === null && !arrivals.closeIfEmpty(); ) {
      for (const { message, resolve } of arrivals.take()) {
        resolve(true);
        const names = { turn: `${prompt.turn}/joined-${joined++}`, key: message.key };
        end ??= yield* answer({ text: message.text, parts: message.parts, names }, common, signal, options);
      }
    }
    signal.throwIfAborted();
    return end ?? ended("completed");
  } catch (error) {
    if (signal.aborted) return ended("cancelled");
    return ended("failed", { code: "internal", message: `the offline agent failed: ${errorText(error)}` });
  }
}

type Said = Pick<Prompt, "text" | "parts"> & { names: { turn: string; key: string } };

/** Applies the rules to each message of a text. Returns the end of the turn if a step causes it, else null. */
async function* answer(
  { names: { turn, key }, ...said }: Said,
  common: Record<string, string>,
  signal: AbortSignal,
  { spec, playbook, clock, gates }: ConversationOptions,
): AsyncGenerator<DriverEvent, TurnEnded | null> {
  for (const [nth, message] of readTurn(said).entries()) {
    const body = message.body.trim();
    const { rule, captures } = findRule(playbook, { ...message, body });
    const values = { ...namedCaptures(captures), ...common, text: body, sender: message.sender };
    for (const [index, step] of rule.steps.entries()) {
      signal.throwIfAborted();
      // A step's key does not depend on the outcome of other steps: a prompt that is sent again after a crash acts
      // once.
      const place = `${nth}.${index}`;
      const names = { id: `${turn}/${place}`, key: `${key}/${place}` };
      const outcome = yield* runStep(step, { ...names, values, spec, clock, gates, signal });
      if (outcome === "leave rule") break;
      if (outcome !== "next") return ended(outcome.reason, outcome.error);
    }
  }
  return null;
}

/** The text that a model would receive after the plugins' changes: the last message is the one to answer. */
async function hear(
  { text, history }: Prompt,
  { systemPrompt, host }: ConversationSpec,
  signal: AbortSignal,
): Promise<{ system: string; history: string; text: string }> {
  const before = history.map((message) => ({ role: message.role, content: message.text }));
  const request = { systemPrompt, messages: [...before, { role: "user", content: text }] };
  const { messages, ...sent } = await host.beforeModel(request, signal);
  const said = messages.map(({ role, content }) => ({ role, text: String(content) }));
  const last = said.pop();
  return {
    system: sent.systemPrompt,
    history: said.map((message) => `${message.role}: ${message.text}`).join("\n"),
    text: last?.text ?? text,
  };
}

function findRule(playbook: Playbook, message: Incoming): Match {
  for (const rule of playbook.rules) {
    if (rule.from !== null && !rule.from.includes(message.kind)) continue;
    for (const matches of rule.when) {
      const captures = matches(message.body);
      if (captures !== null) return { rule, captures };
    }
  }
  return { rule: noRule, captures: [] };
}

function namedCaptures(captures: readonly string[]): Record<string, string> {
  return Object.fromEntries(captures.map((capture, index) => [String(index), capture]));
}

function ended(reason: TurnEnded["reason"], error: TurnEnded["error"] = null): TurnEnded {
  return { type: "turn.ended", reason, error, usage: null };
}

/** Whether the next step runs, the rest of the rule is skipped, or the turn ends, and how. */
type StepOutcome = "next" | "leave rule" | Pick<TurnEnded, "reason" | "error">;

type StepRun = AsyncGenerator<DriverEvent, StepOutcome>;

async function* runStep(step: PlaybookStep, context: StepContext): StepRun {
  const text = (template: string) => render(template, context.values);
  if ("say" in step) {
    yield { type: "text", message: context.id, text: text(step.say) };
    return "next";
  }
  if ("stream" in step) return yield* stream(step, context);
  if ("think" in step) {
    yield { type: "thinking", message: context.id, text: text(step.think) };
    return "next";
  }
  if ("ask" in step) return await ask(step, context);
  if ("tool" in step) {
    const name = text(step.tool);
    const { output, is_error } = yield* callTool(name, renderDeep(step.input, context.values), context);
    if (step.save !== undefined) context.values[step.save] = output;
    if (!is_error) return "next";
    // Later steps rely on this one: continuing would claim what did not happen.
    yield { type: "text", message: `${context.id}/error`, text: `${name} failed: ${output}` };
    return "leave rule";
  }
  if ("wait" in step) return await wait(step, context);
  if ("fail" in step) return { reason: "failed", error: { code: step.code, message: text(step.fail) } };
  if ("refuse" in step) {
    yield { type: "text", message: context.id, text: text(step.refuse) };
    return { reason: "refused", error: null };
  }
  if ("die" in step) {
    const message = "the offline agent ended, as its playbook specifies";
    return { reason: "failed", error: { code: "died", message, stderr: text(step.die) } };
  }
  return await untilAborted(new Promise<never>(() => {}), context.signal);
}

/** Text that was written before an abort is kept. */
async function* stream(step: Steps["stream"], { id, values, clock, signal }: StepContext): StepRun {
  const characters = [...render(step.stream, values)];
  let said = "";
  try {
    for (let start = 0; start < characters.length; start += step.chunk) {
      const text = characters.slice(start, start + step.chunk).join("");
      said += text;
      yield { type: "text_delta", message: id, text };
      await clock.sleep(step.delay, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  yield { type: "text", message: id, text: said };
  return "next";
}

async function ask(step: Steps["ask"], { id, values, spec, signal }: StepContext): Promise<StepOutcome> {
  const request = {
    call: id,
    tool: render(step.tool, values),
    kind: "other" as const,
    title: render(step.ask, values),
    input: renderDeep(step.input, values),
  };
  const answer = await judge(spec.host, request, null, signal);
  signal.throwIfAborted();
  if (step.save !== undefined) values[step.save] = answer.decision === "allow" ? "allowed" : "denied";
  return "next";
}

async function wait(step: Steps["wait"], { values, spec, clock, gates, signal }: StepContext): Promise<StepOutcome> {
  if (typeof step.wait === "number") {
    await clock.sleep(step.wait, signal);
    return "next";
  }
  const path = render(step.wait.gate, values);
  const gate = await containedPath(spec.cwd, path);
  if (gate === null) return { reason: "failed", error: { code: "start", message: `${path} is outside the project` } };
  await gates.passed(gate, signal);
  return "next";
}

type Incoming = {
  kind: SenderKind;
  /** A peer's handle or the name of another sender; `human` for a person. */
  sender: string;
  body: string;
};

type Origin = Omit<Incoming, "body">;

const person: Origin = { kind: "human", sender: "human" };

/**
 * Every message is a separate request, even if several of one person have no headers. Text that plugins put before the
 * messages stays with the first one; text that plugins replaced is split by its headers.
 */
function readTurn({ text, parts }: Pick<Prompt, "text" | "parts">): Incoming[] {
  const said = parts.join(messageSeparator);
  const [first = "", ...others] = parts;
  if (parts.length === 0 || !text.endsWith(said)) return splitMessages(text);
  return [text.slice(0, text.length - said.length) + first, ...others].flatMap(splitMessages);
}

/** Splits at header lines; text before the first one is a person's message. */
export function splitMessages(text: string): Incoming[] {
  const messages: Incoming[] = [];
  let lines: string[] = [];
  let origin: Origin | null = null;
  const close = () => {
    const body = lines.join("\n");
    if (origin !== null || body.trim() !== "") messages.push({ ...(origin ?? person), body });
  };
  for (const line of text.split("\n")) {
    const next = originOf(line);
    if (next === null) {
      lines.push(line);
      continue;
    }
    // The blank line before a header separates two messages and belongs to neither.
    if (lines.at(-1) === "") lines.pop();
    close();
    origin = next;
    lines = [];
  }
  close();
  return messages;
}

function originOf(line: string): Origin | null {
  const header = parseHeader(line);
  if (header === null) return null;
  if (header.word === personOrigin) return person;
  const kind = senderKinds.find((candidate) => candidate === header.word);
  return kind === undefined ? null : { kind, sender: header.name ?? kind };
}
