/**
 * Validates the results of hooks. Hand-written and without dependencies, because it runs in every plugin worker and
 * again in the daemon, which does not trust workers.
 */
import type { HookEvent, HookResults, HookTurn } from "@aegis/contract/hook.ts";
import { hookKinds } from "@aegis/contract/hook.ts";
import { sizeOf } from "@aegis/lib/cut-text.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

/** A hook returned a value that its event does not accept. */
class HookResultError extends Error {
  override readonly name = "HookResultError";
}

/** In characters: the largest message with its overhead. */
const longestResult = 9 * 1024 * 1024;
/** A complete conversation with its images. */
const longestConversation = 32 * 1024 * 1024;

type Check<E extends HookEvent> = (value: unknown) => HookResults[E];

/**
 * Returns the validated result, or null for no change. Throws `HookResultError` with what was expected; the caller adds
 * the name of the hook.
 */
export function checkResult<E extends HookEvent>(event: E, value: unknown): HookResults[E] | null {
  if (value === null || value === undefined || hookKinds[event] === "observer") return null;
  const check = checks[event as keyof typeof checks] as unknown as Check<E>;
  const result = check(value);
  const [size, most] = [sizeOf(result), event === "before_agent_start" ? longestConversation : longestResult];
  if (size > most) throw new HookResultError(`the result has ${size} characters; at most ${most} are allowed`);
  return result;
}

const checks = {
  pre_spawn(value) {
    const { argv, env, block } = fieldsOf(value, ["argv", "env", "block"]);
    return {
      ...(argv === undefined ? {} : { argv: commandLine(argv) }),
      ...(env === undefined ? {} : { env: environment(env) }),
      ...(block === undefined ? {} : { block: someText("block", block) }),
    };
  },
  pre_turn(value) {
    const fields = fieldsOf(value, ["prependSystem", "rewriteUser", "block", "extendHistory"]);
    const { prependSystem, rewriteUser, block, extendHistory } = fields;
    return {
      ...(prependSystem === undefined ? {} : { prependSystem: anyText("prependSystem", prependSystem) }),
      ...(rewriteUser === undefined ? {} : { rewriteUser: someText("rewriteUser", rewriteUser) }),
      ...(block === undefined ? {} : { block: someText("block", block) }),
      ...(extendHistory === undefined ? {} : { extendHistory: list("extendHistory", extendHistory).map(turn) }),
    };
  },
  message_received: (value) => someText("the result", value),
  before_agent_start(value) {
    const { systemPrompt, messages } = fieldsOf(value, ["systemPrompt", "messages"]);
    return {
      ...(systemPrompt === undefined ? {} : { systemPrompt: anyText("systemPrompt", systemPrompt) }),
      ...(messages === undefined ? {} : { messages: list("messages", messages).map(modelMessage) }),
    };
  },
  pre_tool_use(value) {
    const { decision, reason, input } = fieldsOf(value, ["decision", "reason", "input"]);
    const rewritten = input === undefined ? {} : { input: plain("input", input) };
    if (decision === "allow") return { decision, ...rewritten };
    if (decision === "deny") return { decision, reason: someText("reason", reason) };
    if (decision !== "ask") throw wrong("decision", `"allow", "deny" or "ask"`, decision);
    return { decision, ...(reason === undefined ? {} : { reason: someText("reason", reason) }), ...rewritten };
  },
  after_tool_call: (value) => anyText("the result", value),
  message_sending(value) {
    if (typeof value === "string") return value;
    const { cancel } = fieldsOf(value, ["cancel"]);
    if (cancel !== true) throw wrong("cancel", "true", cancel);
    return { cancel };
  },
} satisfies Partial<{ [E in HookEvent]: Check<E> }>;

/** Null fields count as absent. */
function fieldsOf<Name extends string>(value: unknown, known: readonly Name[]): Partial<Record<Name, unknown>> {
  if (!isRecord(value)) throw wrong("the result", `an object with ${known.join(", ")}`, value);
  for (const name of Object.keys(value)) {
    if (!(known as readonly string[]).includes(name))
      throw new HookResultError(`the result has an unknown field "${name}"${didYouMean(name, known)}`);
  }
  const given = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(given) as Partial<Record<Name, unknown>>;
}

function commandLine(value: unknown): string[] {
  const argv = list("argv", value).map((one, index) => withoutNul(`argv[${index}]`, one));
  if (argv[0] === undefined || argv[0] === "") throw wrong("argv", "a program and its arguments", value);
  return argv;
}

function environment(value: unknown): Record<string, string | null> {
  if (!isRecord(value)) throw wrong("env", "an object of strings", value);
  const entries = Object.entries(value).map(([name, one]) => {
    if (name === "" || /[=\0]/.test(name)) throw new HookResultError(`env: "${name}" is not a valid variable name`);
    return [name, one === null ? null : withoutNul(`env.${name}`, one)] as const;
  });
  return Object.fromEntries(entries);
}

function turn(value: unknown, index: number): HookTurn {
  const where = `extendHistory[${index}]`;
  if (!isRecord(value)) throw wrong(where, "{role, text}", value);
  const { role, text } = value;
  if (role !== "user" && role !== "assistant") throw wrong(`${where}.role`, `"user" or "assistant"`, role);
  return { role, text: someText(`${where}.text`, text) };
}

function modelMessage(value: unknown, index: number): { role: string; content: unknown } {
  const where = `messages[${index}]`;
  if (!isRecord(value)) throw wrong(where, "{role, content}", value);
  const { role, content } = value;
  if (content === undefined) throw wrong(`${where}.content`, "text or a list of parts", content);
  return { role: someText(`${where}.role`, role), content: plain(`${where}.content`, content) };
}

function anyText(where: string, value: unknown): string {
  if (typeof value !== "string") throw wrong(where, "text", value);
  return value;
}

function someText(where: string, value: unknown): string {
  if (typeof value !== "string" || value.trim() === "") throw wrong(where, "text that is not empty", value);
  return value;
}

function withoutNul(where: string, value: unknown): string {
  const text = anyText(where, value);
  if (text.includes("\0")) throw new HookResultError(`${where} contains a NUL character`);
  return text;
}

function list(where: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw wrong(where, "a list", value);
  return value;
}

/** Requires plain JSON: a value that would not survive the transfer to the daemon is refused at its source. */
function plain(where: string, value: unknown): unknown {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return JSON.parse(text) as unknown;
  } catch {
    // A cycle or a BigInt, which is reported below like any other non-JSON value.
  }
  throw wrong(where, "JSON", value);
}

function wrong(where: string, expected: string, value: unknown): HookResultError {
  return new HookResultError(`${where} should be ${expected}, not ${shown(value)}`);
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null)
    return `an object with ${Object.keys(value).join(", ") || "no field"}`;
  if (typeof value === "string") return value.length > 40 ? `"${value.slice(0, 40)}…"` : `"${value}"`;
  return typeof value === "function" ? "a function" : String(value);
}
